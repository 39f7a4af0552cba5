// SiLU: s(z) · (1 + z · s(-z)), s the sigmoid.
fn opening_slope(z: vec4<f32>) -> Opening {
    let bounded = clamp(z, vec4<f32>(-720.0), vec4<f32>(720.0));
    let s = sigmoid_times(vec4<f32>(1.0), z);
    return Opening(opaque(s.factor * (vec4<f32>(1.0) + opaque(bounded * sigmoid_of(-bounded)))), s.exponent);
}
