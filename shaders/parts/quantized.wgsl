// The result in steps between codes.
fn quantized(y: Octet, scale: Scale) -> Octet {
    return Octet(y[0] * scale.codes, y[1] * scale.codes);
}
