// One element of OPERAND, in DTYPE.
fn load_OPERAND_one(e: u32) -> f32 {
    return decode_DTYPE_one((BUFFER_one(e / 2u) >> ((e & 1u) * 16u)) & 0xffffu);
}
