// bf16 in the halves of a word, the lower half first: the upper half of an f32. Encoding rounds to nearest, ties to even, in
// integers; a NaN stays one, and quiet.
fn decode_bf16(words: vec4<u32>) -> Octet {
    let low = words << vec4<u32>(16u);
    let high = words & vec4<u32>(0xffff0000u);
    return Octet(
        bitcast<vec4<f32>>(vec4<u32>(low.x, high.x, low.y, high.y)),
        bitcast<vec4<f32>>(vec4<u32>(low.z, high.z, low.w, high.w)),
    );
}

fn decode_bf16_one(half: u32) -> f32 {
    return bitcast<f32>(half << 16u);
}

fn encode_bf16_four(v: vec4<f32>) -> vec4<u32> {
    let bits = bitcast<vec4<u32>>(v);
    let even = (bits >> vec4<u32>(16u)) & vec4<u32>(1u);
    let rounded = (bits + vec4<u32>(0x7fffu) + even) >> vec4<u32>(16u);
    let quiet = (bits >> vec4<u32>(16u)) | vec4<u32>(0x40u);
    return select(rounded, quiet, (bits & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u));
}

fn encode_bf16(v: Octet) -> vec4<u32> {
    let low = encode_bf16_four(v[0]);
    let high = encode_bf16_four(v[1]);
    return vec4<u32>(low.xz, high.xz) | (vec4<u32>(low.yw, high.yw) << vec4<u32>(16u));
}
