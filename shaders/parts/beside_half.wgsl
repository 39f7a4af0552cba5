// OPERAND, an output beside the main one, in DTYPE: two elements a word, octets from even elements.
fn store_OPERAND(e: u32, v: Octet) {
    set_BUFFER_four(e / 2u, encode_DTYPE(v));
}

fn store_OPERAND_one(e: u32, v: f32) {
    merge_BUFFER_one(e / 2u, encode_DTYPE(Octet(vec4<f32>(v), vec4<f32>(v))).x, 0xffffu << ((e & 1u) * 16u));
}
