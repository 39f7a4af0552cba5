// OPERAND, an output beside the main one, in f32: a word an element.
fn store_OPERAND(e: u32, v: Octet) {
    set_BUFFER_four(e, bitcast<vec4<u32>>(v[0]));
    set_BUFFER_four(e + 4u, bitcast<vec4<u32>>(v[1]));
}

fn store_OPERAND_one(e: u32, v: f32) {
    set_BUFFER_one(e, bitcast<u32>(v));
}
