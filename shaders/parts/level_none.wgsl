// No mean of g: nothing is centred.
fn join_level(slot: u32, lane: u32, block: u32, level: Octet) {
}

fn joined_level(slot: u32, invocation: u32) -> f32 {
    return 0.0;
}
