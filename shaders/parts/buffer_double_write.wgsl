fn set_BUFFER_one(i: u32, word: u32) {
    merge_BUFFER_one(i, word, 0xffffffffu);
}

fn set_BUFFER_four(i: u32, words: vec4<u32>) {
    BUFFER[i / 2u] = u64(words.x) | (u64(words.y) << 32u);
    BUFFER[i / 2u + 1u] = u64(words.z) | (u64(words.w) << 32u);
}

// Changes the bits of a word that `mask` has; the others keep theirs.
fn merge_BUFFER_one(i: u32, word: u32, mask: u32) {
    let shift = 32u * (i & 1u);
    let kept = BUFFER[i / 2u] & ~(u64(mask) << shift);
    BUFFER[i / 2u] = kept | (u64(word & mask) << shift);
}

// Changes the lower `bits` of a 64-bit word, or all where they are 64 or more.
fn set_BUFFER_lower(i: u32, word: u64, bits: u32) {
    if (bits >= 64u) {
        BUFFER[i] = word;
    } else if (bits > 0u) {
        let upper = ~u64(0u) << bits;
        BUFFER[i] = (BUFFER[i] & upper) | (word & ~upper);
    }
}
