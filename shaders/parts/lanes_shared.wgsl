// The lanes of a row join in workgroup memory: several invocations work on a row. (Where one does: lanes_alone.wgsl.)

// For every row at once: a pair of sums (of two neighbouring lanes) for each octet lane.
var<workgroup> lane_pairs: array<vec2<f32>, LANE_PAIRS>;
// For every row at once: a maximum; and whether it needs the rescue. And whether any does.
var<workgroup> maxima: array<atomic<u32>, ROWS_AT_ONCE>;
var<workgroup> rescue_row: array<u32, ROWS_AT_ONCE>;
var<workgroup> rescue_any: u32;

// An invocation has every WIDTH-th lane, and adds all blocks of one before it goes on to the next.
fn lane_of(turn: u32, invocation: u32) -> u32 {
    return turn / BLOCKS * WIDTH + invocation;
}

fn block_of(turn: u32) -> u32 {
    return turn % BLOCKS;
}

// Takes the sum of a block of a lane.
fn join_block(slot: u32, lane: u32, block: u32, sum: Octet) {
    join_levels(block, sum);
    if (block == BLOCKS - 1u) {
        lane_pairs[slot * SLOT_PAIRS + lane] = pair_of(joined_levels());
    }
}

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

// The largest of what the invocations of a row found. Called by all invocations.
fn join_maxima(slot: u32, invocation: u32, found: u32) -> u32 {
    if (invocation == 0u) {
        atomicStore(&maxima[slot], 0u);
    }
    workgroupBarrier();
    atomicMax(&maxima[slot], found);
    workgroupBarrier();
    let largest = atomicLoad(&maxima[slot]);
    // What follows may clear it.
    workgroupBarrier();
    return largest;
}

// Whether any row of the workgroup needs the rescue: the same answer for all invocations, for there are barriers in there.
fn any_rescue(slot: u32, invocation: u32, needed: bool) -> bool {
    if (invocation == 0u) {
        rescue_row[slot] = u32(needed);
    }
    workgroupBarrier();
    if (slot * WIDTH + invocation == 0u) {
        var any = 0u;
        for (var i = 0u; i < ROWS_AT_ONCE; i++) {
            any |= rescue_row[i];
        }
        rescue_any = any;
    }
    return workgroupUniformLoad(&rescue_any) != 0u;
}
