// The derivatives of what gates open to. Beyond 720 either sigmoid is 0 or 1, and stays so.
fn sigmoid_of(z: vec4<f32>) -> vec4<f32> {
    let s = sigmoid_times(vec4<f32>(1.0), z);
    return s.factor * power_of_two(max(s.exponent, vec4<i32>(-126)));
}
