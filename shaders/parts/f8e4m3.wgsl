// 4 bits of exponent, 3 of fraction, no infinity, four a word, the lowest byte first: to nearest, ties to even, in integers;
// from 464 up, infinity included, 448; a NaN is 0x7f.
fn encode_f8e4m3_four(v: vec4<f32>) -> u32 {
    let bits = bitcast<vec4<u32>>(v);
    let sign = (bits >> vec4<u32>(24u)) & vec4<u32>(0x80u);
    let magnitude = bits & vec4<u32>(0x7fffffffu);
    // From 2^-6 up: the exponent moves from bias 127 to 7, and 20 bits of the fraction go.
    let even = (magnitude >> vec4<u32>(20u)) & vec4<u32>(1u);
    let normal = (magnitude - vec4<u32>(0x3c000000u) + vec4<u32>(0x7ffffu) + even) >> vec4<u32>(20u);
    // Below: the significand counts steps of 2^-9. From 2^-10 down to zero, nothing is left.
    let shift = clamp(vec4<u32>(141u) - min(magnitude >> vec4<u32>(23u), vec4<u32>(141u)), vec4<u32>(1u), vec4<u32>(25u));
    let significand = (magnitude & vec4<u32>(0x7fffffu)) | vec4<u32>(0x800000u);
    let tie = (significand >> shift) & vec4<u32>(1u);
    let subnormal = (significand + (vec4<u32>(1u) << (shift - vec4<u32>(1u))) - vec4<u32>(1u) + tie) >> shift;
    var code = select(normal, subnormal, magnitude < vec4<u32>(0x3c800000u));
    code = select(code, vec4<u32>(0x7eu), magnitude >= vec4<u32>(0x43e00000u));
    code = select(sign | code, vec4<u32>(0x7fu), magnitude > vec4<u32>(0x7f800000u));
    return code.x | (code.y << 8u) | (code.z << 16u) | (code.w << 24u);
}

fn encode_f8e4m3(v: Octet) -> vec2<u32> {
    return vec2<u32>(encode_f8e4m3_four(v[0]), encode_f8e4m3_four(v[1]));
}
