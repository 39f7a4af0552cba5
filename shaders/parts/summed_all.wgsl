// The scale is made of all elements.
fn summed_part(n: Octet, o: u32) -> Octet {
    return n;
}
