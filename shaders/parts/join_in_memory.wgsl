// Joins the lanes of a row by halving: v with v + L/2, then L/4, down to 1. Called by all invocations, after join_block.
fn join_lanes(slot: u32, invocation: u32) -> f32 {
    let first = slot * SLOT_PAIRS;
    if (OCTET_LANES < 8u && invocation == 0u) {
        for (var i = OCTET_LANES; i < 8u; i++) {
            lane_pairs[first + i] = vec2<f32>(0.0);
        }
    }
    workgroupBarrier();
    for (var half = OCTET_LANES / 2u; half >= 8u; half /= 2u) {
        for (var i = invocation; i < half; i += WIDTH) {
            lane_pairs[first + i] += lane_pairs[first + i + half];
        }
        workgroupBarrier();
    }
    // The last eight are joined by every invocation for itself: cheaper than three more barriers and a broadcast.
    let four_0 = lane_pairs[first] + lane_pairs[first + 4u];
    let four_1 = lane_pairs[first + 1u] + lane_pairs[first + 5u];
    let four_2 = lane_pairs[first + 2u] + lane_pairs[first + 6u];
    let four_3 = lane_pairs[first + 3u] + lane_pairs[first + 7u];
    let pair = (four_0 + four_2) + (four_1 + four_3);
    return pair.x + pair.y;
}
