fn set_BUFFER_one(i: u32, word: u32) {
    atomicStore(&BUFFER[i], word);
}

fn set_BUFFER_four(i: u32, words: vec4<u32>) {
    set_BUFFER_one(i, words.x);
    set_BUFFER_one(i + 1u, words.y);
    set_BUFFER_one(i + 2u, words.z);
    set_BUFFER_one(i + 3u, words.w);
}

// Changes the bits of a word that `mask` has. The others belong to another row, whose workgroup may do the same at any moment:
// each clears and sets its own bits alone.
fn merge_BUFFER_one(i: u32, word: u32, mask: u32) {
    atomicAnd(&BUFFER[i], ~mask);
    atomicOr(&BUFFER[i], word & mask);
}
