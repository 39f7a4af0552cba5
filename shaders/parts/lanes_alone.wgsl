// A row belongs to one invocation: no barrier, no workgroup memory, no vote. (Where several share it: lanes_shared.wgsl.) Its lanes
// come in the order of their bits reversed, 0 4 2 6 1 5 3 7: so that joining neighbours is the same tree as halving.

fn lane_of(turn: u32, invocation: u32) -> u32 {
    // Two steps, for a shift by 32 is none.
    return (reverseBits(turn) >> (31u - LANE_BITS)) >> 1u;
}

// A slot beyond the rows keeps the second sum of a row.
fn keep_pair(slot: u32, turn: u32, invocation: u32, sums: Octet) {
    if (slot < ROWS_AT_ONCE) {
        join_lane_block(turn, pair_of(sums));
    } else {
        join_second_lane_block(turn, pair_of(sums));
    }
}

fn join_lanes(slot: u32, invocation: u32) -> f32 {
    var pair = joined_lane_blocks();
    if (slot >= ROWS_AT_ONCE) {
        pair = joined_second_lane_blocks();
    }
    return pair.x + pair.y;
}

fn join_maxima(slot: u32, invocation: u32, found: u32) -> u32 {
    return found;
}

fn any_rescue(slot: u32, invocation: u32, needed: bool) -> bool {
    return needed;
}
