// Nothing follows.
fn after(y: Octet, n: Octet, w: Octet, b: Octet, q: Octet, scale: Scale) -> Octet {
    return quantized(y, scale);
}
