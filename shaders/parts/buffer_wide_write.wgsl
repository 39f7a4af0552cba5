fn set_BUFFER_one(i: u32, word: u32) {
    BUFFER[i / 4u][i % 4u] = word;
}

fn set_BUFFER_four(i: u32, words: vec4<u32>) {
    BUFFER[i / 4u] = words;
}

// Changes the bits of a word that `mask` has; the others keep theirs.
fn merge_BUFFER_one(i: u32, word: u32, mask: u32) {
    set_BUFFER_one(i, (BUFFER_one(i) & ~mask) | (word & mask));
}
