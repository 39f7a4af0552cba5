fn set_BUFFER_one(i: u32, word: u32) {
    BUFFER[i / 4u][i % 4u] = word;
}

fn set_BUFFER_four(i: u32, words: vec4<u32>) {
    BUFFER[i / 4u] = words;
}
