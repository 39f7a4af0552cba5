// n · w may overflow where n · w + b does not: such elements are computed at half scale. A bias of zero changes nothing, not even
// the sign of a zero, so that zeros and no bias give the same bits.
fn add_bias_four(y: vec4<f32>, w: vec4<f32>, n: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    let plain = opaque(y) + b;
    let halved = 2.0 * (opaque(n * (0.5 * w)) + 0.5 * b);
    let overflowed = magnitude_bits(plain) >= vec4<u32>(0x7f800000u);
    return select(select(plain, halved, overflowed), y, b == vec4<f32>(0.0));
}

fn add_bias(y: Octet, w: Octet, n: Octet, b: Octet) -> Octet {
    return Octet(add_bias_four(y[0], w[0], n[0], b[0]), add_bias_four(y[1], w[1], n[1], b[1]));
}
