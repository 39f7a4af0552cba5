// The sum of squares of a row as it is.
fn plain_sum(slot: u32, invocation: u32, row: Row) -> f32 {
    for (var turn = 0u; turn < rolled(BLOCK_TURNS); turn++) {
        let lane = lane_of(turn, invocation);
        let block = block_of(turn);
        join_block(slot, lane, block, block_of_squares(row, lane, block));
    }
    return join_lanes(slot, invocation);
}
