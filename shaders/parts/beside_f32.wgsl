// OPERAND, an output beside the main one, in f32: a word an element.
fn store_OPERAND(e: u32, v: Octet) {
    set_BUFFER_four(e, bitcast<vec4<u32>>(v[0]));
    set_BUFFER_four(e + 4u, bitcast<vec4<u32>>(v[1]));
}

// The first `count` elements of an octet.
fn store_OPERAND_rest(e: u32, v: Octet, count: u32) {
    for (var k = 0u; k < count; k++) {
        let low = select(select(v[0].x, v[0].y, k == 1u), select(v[0].z, v[0].w, k == 3u), k >= 2u);
        let high = select(select(v[1].x, v[1].y, k == 5u), v[1].z, k == 6u);
        set_BUFFER_one(e + k, bitcast<u32>(select(low, high, k >= 4u)));
    }
}
