// No OPERAND: a constant in its place.
fn load_OPERAND(e: u32) -> Octet {
    return Octet(vec4<f32>(ABSENT_OPERAND), vec4<f32>(ABSENT_OPERAND));
}

fn load_OPERAND_one(e: u32) -> f32 {
    return ABSENT_OPERAND;
}
