// Octet o of a row, with zeros behind the row's end.
fn octet_or_zero(row: Row, o: u32) -> Octet {
    if (o < WHOLE_OCTETS) {
        return value_at(row, o * 8u);
    }
    if (o < OCTETS) {
        return rest_octet(row);
    }
    return Octet(vec4<f32>(0.0), vec4<f32>(0.0));
}

// The squares of two neighbouring lanes, in the order of src/plan/order.rs. Only in the last step may a lane have less than a
// whole octet. The loops are kept rolled: software drivers take long to compile loads, and unrolling gained nothing there.
fn lane_sums(row: Row, lane: u32) -> Octet {
    begin_blocks();
    for (var block = 0u; block < BLOCKS; block++) {
        var sum = Octet(vec4<f32>(0.0), vec4<f32>(0.0));
        let end = min((block + 1u) * BLOCK, FULL_STEPS);
        for (var step = block * BLOCK; step < end; step++) {
            sum += squares_of(value_at(row, (step * OCTET_LANES + lane) * 8u));
        }
        if (STEPS > FULL_STEPS && block == BLOCKS - 1u) {
            sum += squares_of(octet_or_zero(row, FULL_STEPS * OCTET_LANES + lane));
        }
        join_block(block, sum);
    }
    return joined_blocks();
}
