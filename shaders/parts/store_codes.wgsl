// The output in DTYPE, four codes a word. Octets begin with a word.
fn store_output(e: u32, v: Octet) {
    let words = encode_DTYPE(v);
    set_BUFFER_one(e / 4u, words.x);
    set_BUFFER_one(e / 4u + 1u, words.y);
}

// The first `count` elements of an octet that ends with the row. What pads the row's last word keeps its bits.
fn store_output_rest(e: u32, v: Octet, count: u32) {
    let words = encode_DTYPE(v);
    let i = e / 4u + count / 4u;
    if (count >= 4u) {
        set_BUFFER_one(e / 4u, words.x);
    }
    let mask = (1u << ((count % 4u) * 8u)) - 1u;
    if (mask != 0u) {
        merge_BUFFER_one(i, select(words.x, words.y, count >= 4u), mask);
    }
}
