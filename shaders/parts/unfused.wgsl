// A product on its way into a sum. Compilers may fuse multiply and add, which rounds once where two roundings are written, and
// do so in one kernel and not in another: lavapipe 22.3.6 does where no execution mask stands between the two. WGSL has no
// word against it. An OR with a zero that only the host knows stands in the way, so that all rungs give the same bits.
fn unfused(v: vec4<f32>) -> vec4<f32> {
    return bitcast<vec4<f32>>(bitcast<vec4<u32>>(v) | vec4<u32>(params.zero));
}

fn unfused_one(v: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(v) | params.zero);
}
