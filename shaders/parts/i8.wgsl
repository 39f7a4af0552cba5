// Whole numbers of 8 bits, -127 to 127, four a word, the lowest byte first: to nearest, ties to even, saturating; a NaN is 0.
fn encode_i8_four(v: vec4<f32>) -> u32 {
    let number = select(vec4<f32>(0.0), v, magnitude_bits(v) <= vec4<u32>(0x7f800000u));
    let code = vec4<u32>(vec4<i32>(round(clamp(number, vec4<f32>(-127.0), vec4<f32>(127.0))))) & vec4<u32>(0xffu);
    return code.x | (code.y << 8u) | (code.z << 16u) | (code.w << 24u);
}

fn encode_i8(v: Octet) -> vec2<u32> {
    return vec2<u32>(encode_i8_four(v[0]), encode_i8_four(v[1]));
}
