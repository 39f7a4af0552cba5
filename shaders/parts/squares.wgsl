// The squares of the quads of a block, which a lane adds one after the other: of two neighbouring lanes, in the order of
// src/plan/order.rs. Only in the last step may a lane have less than a whole octet. The loops are kept rolled: software drivers take
// long to compile loads, and unrolling gained nothing there.
fn block_of_squares(row: Row, lane: u32, block: u32) -> Octet {
    var sum = Octet(vec4<f32>(0.0), vec4<f32>(0.0));
    let end = min((block + 1u) * BLOCK, rolled(FULL_STEPS));
    for (var step = block * BLOCK; step < end; step++) {
        let o = step * OCTET_LANES + lane;
        let x = value_at(row, o * 8u);
        note_octet(row, o, x);
        sum += squares_of(x);
    }
    if (STEPS > FULL_STEPS && block == BLOCKS - 1u) {
        let o = FULL_STEPS * OCTET_LANES + lane;
        let x = octet_or_zero(row, o);
        note_octet(row, o, x);
        sum += squares_of(x);
    }
    return sum;
}
