// One element of OPERAND, in f32.
fn load_OPERAND_one(e: u32) -> f32 {
    return bitcast<f32>(BUFFER_one(e));
}
