// The sum of squares of a row as it is, from the sums of its pieces.
fn plain_sum(slot: u32, invocation: u32, row: Row) -> f32 {
    let first = row.number * PIECES;
    for (var lane = invocation; lane < OCTET_LANES; lane += WIDTH) {
        for (var whole = 0u; whole < BLOCKS / PIECE_BLOCKS; whole++) {
            join_piece_levels(whole, scratch[(first + whole) * OCTET_LANES + lane]);
        }
        let last = scratch[(first + PIECES - 1u) * OCTET_LANES + lane];
        lane_pairs[slot * SLOT_PAIRS + lane] = pair_of(joined_piece_levels(last));
    }
    return join_lanes(slot, invocation);
}
