// A second sum beside the first, in workgroup memory of its own.
fn join_second_block(slot: u32, lane: u32, block: u32, sum: Octet) {
    join_second_levels(block, sum);
    if (block == BLOCKS - 1u) {
        lane_pairs[(ROWS_AT_ONCE + slot) * SLOT_PAIRS + lane] = pair_of(joined_second_levels());
    }
}

fn join_second_lanes(slot: u32, invocation: u32) -> f32 {
    return join_lanes(ROWS_AT_ONCE + slot, invocation);
}
