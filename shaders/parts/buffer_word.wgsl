// BUFFER as an array of words.
fn BUFFER_one(i: u32) -> u32 {
    return BUFFER[i];
}

fn BUFFER_four(i: u32) -> vec4<u32> {
    return vec4<u32>(BUFFER[i], BUFFER[i + 1u], BUFFER[i + 2u], BUFFER[i + 3u]);
}
