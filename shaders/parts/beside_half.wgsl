// OPERAND, an output beside the main one, in DTYPE: two elements a word, octets from even elements.
fn store_OPERAND(e: u32, v: Octet) {
    set_BUFFER_four(e / 2u, encode_DTYPE(v));
}
