// The OPERAND goes on in f32.
fn cast_OPERAND(v: Octet) -> Octet {
    return v;
}
