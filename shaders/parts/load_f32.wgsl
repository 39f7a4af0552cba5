// OPERAND in f32: a word an element.
fn load_OPERAND(e: u32) -> Octet {
    return Octet(bitcast<vec4<f32>>(BUFFER_four(e)), bitcast<vec4<f32>>(BUFFER_four(e + 4u)));
}
