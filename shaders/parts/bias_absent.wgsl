// No bias: the product is the result.
fn add_bias(y: Octet, w: Octet, n: Octet, b: Octet) -> Octet {
    return y;
}
