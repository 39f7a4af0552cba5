// The output in f32: a word an element.
fn store_output(e: u32, v: Octet) {
    set_BUFFER_four(e, bitcast<vec4<u32>>(v[0]));
    set_BUFFER_four(e + 4u, bitcast<vec4<u32>>(v[1]));
}

// The first `count` elements of an octet that ends with the row.
fn store_output_rest(e: u32, v: Octet, count: u32) {
    let low = bitcast<vec4<u32>>(v[0]);
    let high = bitcast<vec4<u32>>(v[1]);
    if (count > 0u) { set_BUFFER_one(e, low.x); }
    if (count > 1u) { set_BUFFER_one(e + 1u, low.y); }
    if (count > 2u) { set_BUFFER_one(e + 2u, low.z); }
    if (count > 3u) { set_BUFFER_one(e + 3u, low.w); }
    if (count > 4u) { set_BUFFER_one(e + 4u, high.x); }
    if (count > 5u) { set_BUFFER_one(e + 5u, high.y); }
    if (count > 6u) { set_BUFFER_one(e + 6u, high.z); }
}
