// The sigmoid: s(z) · s(-z).
fn opening_slope(z: vec4<f32>) -> Opening {
    let open = sigmoid_times(vec4<f32>(1.0), z);
    let shut = sigmoid_times(vec4<f32>(1.0), -z);
    return Opening(opaque(open.factor * shut.factor), open.exponent + shut.exponent);
}
