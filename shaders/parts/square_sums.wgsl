// The squares of a block (parts/squares.wgsl) of scaled elements, in the same order.
fn block_of_scaled_squares(row: Row, lane: u32, block: u32, exponent: i32) -> Octet {
    var sum = Octet(vec4<f32>(0.0), vec4<f32>(0.0));
    let end = min((block + 1u) * BLOCK, rolled(STEPS));
    for (var step = block * BLOCK; step < end; step++) {
        sum += squares_of(scaled(split_or_zero(row, step * OCTET_LANES + lane), exponent));
    }
    return sum;
}

// The sum of squares of a row by rescue. Called by all invocations of a workgroup; the barriers are in uniform control flow.
fn rescued_sum(slot: u32, invocation: u32, row: Row) -> Statistic {
    let peak = peak_of(slot, invocation, row);
    let exponent = exponent_of_peak(peak);
    for (var turn = 0u; turn < rolled(BLOCK_TURNS); turn++) {
        let lane = lane_of(turn, invocation);
        let block = block_of(turn);
        join_block(slot, lane, block, block_of_scaled_squares(row, lane, block, exponent));
    }
    let squares = join_lanes(slot, invocation);
    // What is not finite spoils the row. The sums were of no use then, but their barriers are everyone's.
    if (peak >= PEAK_INFINITE) {
        return Statistic(not_finite(peak), 0);
    }
    return Statistic(squares, select(exponent, 0, peak == 0u));
}
