// f16 in the halves of a word, the lower half first. Decoding is exact, subnormals included; encoding rounds to nearest, ties
// to even, in integers, for WGSL leaves the direction of pack2x16float open: 65519.99 -> 65504, 65520 -> infinity.
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
    let sign = (bits >> vec4<u32>(16u)) & vec4<u32>(0x8000u);
    let magnitude = bits & vec4<u32>(0x7fffffffu);
    // From 2^-14 up: the exponent moves from bias 127 to 15, and 13 bits of the fraction go.
    let even = (magnitude >> vec4<u32>(13u)) & vec4<u32>(1u);
    let normal = (magnitude - vec4<u32>(0x38000000u) + vec4<u32>(0xfffu) + even) >> vec4<u32>(13u);
    // Below: the significand counts steps of 2^-24. From 2^-25 down to zero, nothing is left.
    let shift = clamp(vec4<u32>(126u) - min(magnitude >> vec4<u32>(23u), vec4<u32>(126u)), vec4<u32>(1u), vec4<u32>(25u));
    let significand = (magnitude & vec4<u32>(0x7fffffu)) | vec4<u32>(0x800000u);
    let tie = (significand >> shift) & vec4<u32>(1u);
    let subnormal = (significand + (vec4<u32>(1u) << (shift - vec4<u32>(1u))) - vec4<u32>(1u) + tie) >> shift;
    var half = select(normal, subnormal, magnitude < vec4<u32>(0x38800000u));
    half = select(half, vec4<u32>(0x7c00u), magnitude >= vec4<u32>(0x477ff000u));
    half = select(half, vec4<u32>(0x7e00u), magnitude > vec4<u32>(0x7f800000u));
    return sign | half;
}

fn encode_f16(v: Octet) -> vec4<u32> {
    let low = encode_f16_four(v[0]);
    let high = encode_f16_four(v[1]);
    return vec4<u32>(low.xz, high.xz) | (vec4<u32>(low.yw, high.yw) << vec4<u32>(16u));
}
