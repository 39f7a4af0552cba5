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
