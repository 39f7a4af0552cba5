// Two f16 in a word.

fn unpack(word: u32) -> vec2<f32> {
    return unpack2x16float(word);
}

fn pack(pair: vec2<f32>) -> u32 {
    return pack2x16float(pair);
}
