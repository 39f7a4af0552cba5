// SiLU: s(z) · (1 + z · s(-z)), s the sigmoid.
fn opening_slope(z: vec4<f32>) -> vec4<f32> {
    let bounded = clamp(z, vec4<f32>(-720.0), vec4<f32>(720.0));
    return opaque(sigmoid_of(z) * (vec4<f32>(1.0) + opaque(bounded * sigmoid_of(-bounded))));
}
