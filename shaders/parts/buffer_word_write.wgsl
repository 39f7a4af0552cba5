fn set_BUFFER_one(i: u32, word: u32) {
    BUFFER[i] = word;
}

fn set_BUFFER_four(i: u32, words: vec4<u32>) {
    BUFFER[i] = words.x;
    BUFFER[i + 1u] = words.y;
    BUFFER[i + 2u] = words.z;
    BUFFER[i + 3u] = words.w;
}

// Changes the bits of a word that `mask` has; the others keep theirs.
fn merge_BUFFER_one(i: u32, word: u32, mask: u32) {
    set_BUFFER_one(i, (BUFFER_one(i) & ~mask) | (word & mask));
}
