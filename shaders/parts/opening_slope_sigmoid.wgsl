// The sigmoid: s(z) · s(-z).
fn opening_slope(z: vec4<f32>) -> vec4<f32> {
    return opaque(sigmoid_of(z) * sigmoid_of(-z));
}
