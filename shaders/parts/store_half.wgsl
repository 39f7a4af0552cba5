// The output in DTYPE, two elements a word. Octets begin at even elements.
fn store_output(e: u32, v: Octet) {
    set_BUFFER_four(e / 2u, encode_DTYPE(v));
}

// The first `count` elements of an octet that ends with the row. An odd count ends in the lower half of a word.
fn store_output_rest(e: u32, v: Octet, count: u32) {
    let words = encode_DTYPE(v);
    let i = e / 2u;
    if (count > 1u) { set_BUFFER_one(i, words.x); }
    if (count > 3u) { set_BUFFER_one(i + 1u, words.y); }
    if (count > 5u) { set_BUFFER_one(i + 2u, words.z); }
    if ((count & 1u) == 1u) {
        let pairs = count / 2u;
        let last = select(select(words.x, words.y, pairs == 1u), select(words.z, words.w, pairs == 3u), pairs >= 2u);
        merge_BUFFER_one(i + pairs, last, 0xffffu);
    }
}

// One element in the upper half of a word.
fn store_output_head(e: u32, v: f32) {
    merge_BUFFER_one(e / 2u, encode_DTYPE(Octet(vec4<f32>(v), vec4<f32>(v))).x, 0xffff0000u);
}

// A word that holds the end of one row and the start of the next.
fn store_output_shared(e: u32, last: f32, first: f32) {
    set_BUFFER_one(e / 2u, encode_DTYPE(Octet(vec4<f32>(last, first, 0.0, 0.0), vec4<f32>(0.0))).x);
}
