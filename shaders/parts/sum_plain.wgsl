// a + b in f32. Sums of f16 are never subnormal.
fn sum_of(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    return opaque(a + b);
}
