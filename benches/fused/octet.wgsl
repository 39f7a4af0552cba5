// Eight halves in 16 bytes.

struct Octet {
    low: vec4<f32>,
    high: vec4<f32>,
}

fn unpack_octet(words: vec4<u32>) -> Octet {
    return Octet(vec4<f32>(unpack(words.x), unpack(words.y)), vec4<f32>(unpack(words.z), unpack(words.w)));
}

fn pack_octet(octet: Octet) -> vec4<u32> {
    return vec4<u32>(pack(octet.low.xy), pack(octet.low.zw), pack(octet.high.xy), pack(octet.high.zw));
}
