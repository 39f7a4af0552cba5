// The result is gated as it was rounded to the norm's own dtype.
fn gate_apart(y: vec4<f32>, n: vec4<f32>, w: vec4<f32>, b: vec4<f32>, z: vec4<f32>) -> vec4<f32> {
    let s = opening_apart(z);
    return scale_by(fraction_of(y) * s.factor, s.exponent + exponent_of(y));
}
