// The scale is made of all elements: none is far beyond it.
fn far_bits(g: Octet, x: Octet) -> u32 {
    return 0u;
}

fn summed_part(n: Octet, o: u32) -> Octet {
    return n;
}
