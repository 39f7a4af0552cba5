// f16 in the halves of a word, the lower half first. Decoding is exact, subnormals included; encoding rounds to nearest, ties
// to even, by ourselves, for WGSL leaves the direction of pack2x16float open: 65519.99 -> 65504, 65520 -> infinity.
fn decode_f16(words: vec4<u32>) -> Octet {
    return Octet(
        vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y)),
        vec4<f32>(unpack2x16float(words.z), unpack2x16float(words.w)),
    );
}

fn decode_f16_one(half: u32) -> f32 {
    return unpack2x16float(half).x;
}

fn encode_f16_four(v: vec4<f32>) -> vec4<u32> {
    let bits = bitcast<vec4<u32>>(v);
    let magnitude = bits & vec4<u32>(0x7fffffffu);
    let sign = (bits ^ magnitude) >> vec4<u32>(16u);
    // From 2^-14 up: the exponent moves from bias 127 to 15, and 13 bits of the fraction go. 2^16 is where infinity stands.
    let bounded = min(magnitude, vec4<u32>(0x47800000u));
    let even = (bounded >> vec4<u32>(13u)) & vec4<u32>(1u);
    let normal = (bounded + (even + vec4<u32>(0xc8000fffu))) >> vec4<u32>(13u);
    // Below: beside 1/2 an f32 has steps of 2^-24, as subnormal halves have.
    let subnormal = bitcast<vec4<u32>>(bitcast<vec4<f32>>(magnitude) + vec4<f32>(0.5)) - vec4<u32>(0x3f000000u);
    let half = select(normal, subnormal, magnitude < vec4<u32>(0x38800000u));
    return sign | select(half, vec4<u32>(0x7e00u), magnitude > vec4<u32>(0x7f800000u));
}

fn encode_f16(v: Octet) -> vec4<u32> {
    let low = encode_f16_four(v[0]);
    let high = encode_f16_four(v[1]);
    return vec4<u32>(low.xz, high.xz) | (vec4<u32>(low.yw, high.yw) << vec4<u32>(16u));
}
