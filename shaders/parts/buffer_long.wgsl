// BUFFER as an array of two 64-bit words, for drivers that take every access apart: half as many pieces as four words. BUFFER_four
// takes multiples of 4.
fn BUFFER_one(i: u32) -> u32 {
    return u32(BUFFER[i / 4u][(i / 2u) & 1u] >> (32u * (i & 1u)));
}

fn BUFFER_four(i: u32) -> vec4<u32> {
    let pair = BUFFER[i / 4u];
    return vec4<u32>(u32(pair.x), u32(pair.x >> 32u), u32(pair.y), u32(pair.y >> 32u));
}
