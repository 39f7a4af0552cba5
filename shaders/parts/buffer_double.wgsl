// BUFFER as an array of 64-bit words, for drivers that take every access apart: half as many pieces as 32-bit words. BUFFER_four takes
// multiples of 2.
fn BUFFER_one(i: u32) -> u32 {
    return u32(BUFFER[i / 2u] >> (32u * (i & 1u)));
}

fn BUFFER_four(i: u32) -> vec4<u32> {
    let x = BUFFER[i / 2u];
    let y = BUFFER[i / 2u + 1u];
    return vec4<u32>(u32(x), u32(x >> 32u), u32(y), u32(y >> 32u));
}
