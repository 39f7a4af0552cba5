// What comes back along the residual stream is added in f32.
fn summed_with(grad: Octet, s: Octet) -> Octet {
    return Octet(opaque(grad[0]) + s[0], opaque(grad[1]) + s[1]);
}
