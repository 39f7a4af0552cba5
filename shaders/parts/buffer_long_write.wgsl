fn set_BUFFER_one(i: u32, word: u32) {
    merge_BUFFER_one(i, word, 0xffffffffu);
}

fn set_BUFFER_four(i: u32, words: vec4<u32>) {
    let x = u64(words.x) | (u64(words.y) << 32u);
    let y = u64(words.z) | (u64(words.w) << 32u);
    BUFFER[i / 4u] = vec2<u64>(x, y);
}

// Changes the bits of a word that `mask` has; the others keep theirs.
fn merge_BUFFER_one(i: u32, word: u32, mask: u32) {
    let shift = 32u * (i & 1u);
    let half = (i / 2u) & 1u;
    let kept = BUFFER[i / 4u][half] & ~(u64(mask) << shift);
    BUFFER[i / 4u][half] = kept | (u64(word & mask) << shift);
}
