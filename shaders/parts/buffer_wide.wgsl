// BUFFER as an array of four words: BUFFER_four takes multiples of 4.
fn BUFFER_one(i: u32) -> u32 {
    return BUFFER[i / 4u][i % 4u];
}

fn BUFFER_four(i: u32) -> vec4<u32> {
    return BUFFER[i / 4u];
}
