// Sums of NAME beside those of the scale, in workgroup memory of their own.
fn join_NAME_block(slot: u32, lane: u32, block: u32, sum: Octet) {
    join_NAME_levels(block, sum);
    if (block == SLOPE_BLOCKS - 1u) {
        lane_pairs[(REGION * ROWS_AT_ONCE + slot) * SLOT_PAIRS + lane] = pair_of(joined_NAME_levels());
    }
}

fn join_NAME_lanes(slot: u32, invocation: u32) -> f32 {
    return join_lanes(REGION * ROWS_AT_ONCE + slot, invocation);
}
