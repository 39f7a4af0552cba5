// OPERAND, an output beside the main one, in DTYPE: two elements a word, octets from any element. An octet from an odd one begins
// and ends within words that it shares; its BUFFER is bound as atomics.
fn store_OPERAND(e: u32, v: Octet) {
    let words = encode_DTYPE(v);
    let i = e / 2u;
    if ((e & 1u) == 0u) {
        set_BUFFER_four(i, words);
        return;
    }
    merge_BUFFER_one(i, words.x << 16u, 0xffff0000u);
    set_BUFFER_one(i + 1u, (words.x >> 16u) | (words.y << 16u));
    set_BUFFER_one(i + 2u, (words.y >> 16u) | (words.z << 16u));
    set_BUFFER_one(i + 3u, (words.z >> 16u) | (words.w << 16u));
    merge_BUFFER_one(i + 4u, words.w >> 16u, 0xffffu);
}
