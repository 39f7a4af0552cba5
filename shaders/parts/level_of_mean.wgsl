// The mean of g, which a LayerNorm takes off.
fn join_level(slot: u32, lane: u32, block: u32, level: Octet) {
    join_level_block(slot, lane, block, level);
}

fn joined_level(slot: u32, invocation: u32) -> f32 {
    return join_level_lanes(slot, invocation);
}
