// Adding zero gives -0 + 0 = +0, as a bias of zeros does: an absent bias has the bits of one of zeros.
fn add_bias(y: Octet, w: Octet, n: Octet, b: Octet) -> Octet {
    return Octet(y[0] + vec4<f32>(0.0), y[1] + vec4<f32>(0.0));
}
