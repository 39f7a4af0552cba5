// OPERAND in DTYPE, two elements a word, octets from any element: an odd one begins in the upper half of a word, and its
// last element is the lower half of a fifth.
fn load_OPERAND(e: u32) -> Octet {
    let words = BUFFER_four(e / 2u);
    let after = BUFFER_one((e + 7u) / 2u);
    let shifted = (words >> vec4<u32>(16u)) | (vec4<u32>(words.yzw, after) << vec4<u32>(16u));
    return decode_DTYPE(select(words, shifted, (e & 1u) == 1u));
}
