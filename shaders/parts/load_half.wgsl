// OPERAND in DTYPE, two elements a word, octets from even elements.
fn load_OPERAND(e: u32) -> Octet {
    return decode_DTYPE(BUFFER_four(e / 2u));
}

fn load_OPERAND_one(e: u32) -> f32 {
    return decode_DTYPE_one((BUFFER_one(e / 2u) >> ((e & 1u) * 16u)) & 0xffffu);
}
