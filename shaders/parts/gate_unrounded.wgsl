// The result is gated before it is rounded: (product · 2^its_exponent + b) · opening(z), where the sum may leave f32's range. It is
// formed at the size of the larger summand; without a bias the sign of a zero stays.
fn gate_sum(product: vec4<f32>, its_exponent: vec4<i32>, b: vec4<f32>, z: vec4<f32>) -> vec4<f32> {
    let s = opening_apart(z);
    let without = b == vec4<f32>(0.0);
    let p = fraction_of(product);
    let e = its_exponent + exponent_of(product);
    let of_bias = exponent_of(b);
    let size = select(select(max(e, of_bias), of_bias, p == vec4<f32>(0.0)), e, without);
    let sum = select(opaque(scale_by(p, e - size)) + scale_by(fraction_of(b), of_bias - size), p, without);
    return scale_by(sum * s.factor, s.exponent + size);
}

fn gate_apart(y: vec4<f32>, n: vec4<f32>, w: vec4<f32>, b: vec4<f32>, z: vec4<f32>) -> vec4<f32> {
    return gate_sum(opaque(n * fraction_of(w)), exponent_of(w), b, z);
}

fn after_rescued(y: Octet, product: Split, b: Octet, q: Octet, scale: Scale) -> Octet {
    return quantized(Octet(
        gate_sum(product.low, product.low_exponent, b[0], q[0]),
        gate_sum(product.high, product.high_exponent, b[1], q[1]),
    ), scale);
}
