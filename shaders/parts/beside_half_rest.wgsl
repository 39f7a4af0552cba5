// The end of a row of OPERAND, whatever words it shares.
// The first `count` elements of an octet.
fn store_OPERAND_rest(e: u32, v: Octet, count: u32) {
    let words = encode_DTYPE(v);
    for (var k = 0u; k < count; k++) {
        let word = select(select(words.x, words.y, k >= 2u), select(words.z, words.w, k >= 6u), k >= 4u);
        let half = (word >> ((k & 1u) * 16u)) & 0xffffu;
        let place = ((e + k) & 1u) * 16u;
        merge_BUFFER_one((e + k) / 2u, half << place, 0xffffu << place);
    }
}
