// BUFFER as an array of atomic words, for outputs whose rows share words across workgroups.
fn BUFFER_one(i: u32) -> u32 {
    return atomicLoad(&BUFFER[i]);
}

fn BUFFER_four(i: u32) -> vec4<u32> {
    return vec4<u32>(BUFFER_one(i), BUFFER_one(i + 1u), BUFFER_one(i + 2u), BUFFER_one(i + 3u));
}
