// A rounded intermediate that compilers must take as it is. They may fuse a multiplication with the addition that follows, which
// rounds once where two roundings are written, and may simplify (a + b) - a to b; and they do so in one kernel and not in
// another: lavapipe 22.3.6 fuses where no execution mask stands between the two. WGSL has no word against it. An OR with a zero
// that only the host knows stands in the way, so that all rungs give the same bits.
fn opaque(v: vec4<f32>) -> vec4<f32> {
    return bitcast<vec4<f32>>(bitcast<vec4<u32>>(v) | vec4<u32>(params.zero));
}

fn opaque_one(v: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(v) | params.zero);
}
