// The derivatives of what gates open to, as factors and exponents, and the sigmoid as a number. Beyond 720 a sigmoid is 0 or 1.
fn sigmoid_of(z: vec4<f32>) -> vec4<f32> {
    let s = sigmoid_times(vec4<f32>(1.0), z);
    return scale_by(s.factor, s.exponent);
}

fn opening_slopes(l: Loaded) -> Split {
    let low = opening_slope(l.z[0]);
    let high = opening_slope(l.z[1]);
    return renewed(Split(low.factor, high.factor, low.exponent, high.exponent));
}
