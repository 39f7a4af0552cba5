// OPERAND in f32, two elements in each 64-bit word, octets from any element: an odd one begins in the upper half of a word, and its
// last element is the lower half of a fifth. (Selected, for shifts by a variable took longer.)
fn load_OPERAND(e: u32) -> Octet {
    let i = e / 2u;
    let low = BUFFER_four(2u * i);
    let high = BUFFER_four(2u * i + 4u);
    let after = u32(BUFFER[(e + 7u) / 2u]);
    let odd = (e & 1u) == 1u;
    return Octet(
        bitcast<vec4<f32>>(select(low, vec4<u32>(low.yzw, high.x), odd)),
        bitcast<vec4<f32>>(select(high, vec4<u32>(high.yzw, after), odd)),
    );
}
