// Two bf16 in a word: the upper halves of two f32, to nearest, ties to even.

fn unpack(word: u32) -> vec2<f32> {
    return vec2<f32>(bitcast<f32>(word << 16u), bitcast<f32>(word & 0xffff0000u));
}

fn pack(pair: vec2<f32>) -> u32 {
    let bits = bitcast<vec2<u32>>(pair);
    let rounded = bits + 0x7fffu + ((bits >> vec2<u32>(16u)) & vec2<u32>(1u));
    return (rounded.x >> 16u) | (rounded.y & 0xffff0000u);
}
