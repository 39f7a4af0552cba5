// A pair of sums (of two neighbouring lanes) for each octet lane.
var<private> NAME_lane_pairs: array<vec2<f32>, OCTET_LANES>;

// Takes the sum of a block of a lane.
fn join_NAME_block(slot: u32, lane: u32, block: u32, sum: Octet) {
    join_NAME_levels(block, sum);
    if (block == BLOCKS - 1u) {
        NAME_lane_pairs[lane] = pair_of(joined_NAME_levels());
    }
}
