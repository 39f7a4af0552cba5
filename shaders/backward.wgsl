// The backward pass of a norm
//
// Formula   With x̂ = x · r, or (x - mean) · r, as the forward pass has it, and g = d · (w + offset), d the gradient of the output:
//               grad_input  = round(r · (g - x̂ · mean(g · x̂) [- mean(g)]) [+ the gradient of the sum])
//               grad_weight = sum over rows of d · x̂,   grad_bias = sum over rows of d
//           for every row (every group of a row) of HIDDEN elements; the mean of g is a LayerNorm's. x is the input or its product
//           with a gate; a gate may follow the norm instead (parts/slope_*).
//
// Bindings  0: params. 1..: the number of rows in base-256 digits, by dynamic offset. Then the operands as 32-bit words. Last, where
//           weight or bias have gradients, a scratch buffer: for every block and group an octet of each sum for eight channels.
//
// Grid      TEAM invocations take a block: BLOCK_ROWS rows, of one group. A workgroup has ROWS_AT_ONCE teams, and may end with some
//           that have nothing.
//
// Work      Batches of BATCH rows, each in two steps:
//           1. For each row: its scale, as the forward pass finds it (rms_norm.wgsl, layer_norm.wgsl), or as that saved it; and its
//              slope (parts/row_slope.wgsl), in the same sweep where there is no mean (parts/terms_together.wgsl). WIDTH invocations
//              share a row, or each has rows of its own.
//           2. Each invocation takes STRIP octets of channels, all rows of the batch one after the other: a weight is loaded once,
//              and what the rows add to its gradient stays in registers. Neighbouring octets in turn: an access for each of many
//              rows in turn would miss every cache.
//           A batch is the block (parts/block_at_once.wgsl), or, where a strip is the whole row, one row (parts/block_by_rows.wgsl).
//           shaders/grad_channels.wgsl adds up the blocks.
//
// Numerics  f32 throughout. Sums over a row go in the order of src/plan/order.rs, sums over rows in that of src/plan/blocks.rs. Rows
//           whose scale was rescued, or whose g is huge or tiny, are taken apart into fractions and exponents.

// What step 2 needs of a row.
struct Terms {
    scale: Scale,
    slope: Slope,
}

// The same of every row of the workgroup's batches.
var<workgroup> scales: array<Scale, TERMS>;
var<workgroup> slopes: array<Slope, TERMS>;

// The rows of a team.
struct Team {
    slot: u32,
    group: u32,
    first: u32, // the first row, without its group
    rows: u32,  // how many there are
    block: u32, // the number of the block among those of all chunks
}

fn team_row(team: Team, number: u32, rows: u32) -> Row {
    return row_at((team.first + number) * GROUPS + team.group, rows);
}

fn grad_rows(group: u32, index: u32) {
    let rows = row_count();
    let tokens = rows / GROUPS;
    let slot = index / TEAM;
    let lane = index % TEAM;
    let number = group * ROWS_AT_ONCE + slot;
    // The first team of a workgroup has the most rows: it says for all how often they go round, and meet.
    let begin = group * ROWS_AT_ONCE / GROUPS * BLOCK_ROWS;
    if (begin >= tokens) {
        return;
    }
    let most = min(tokens - begin, BLOCK_ROWS);
    let first = number / GROUPS * BLOCK_ROWS;
    let team = Team(
        slot,
        number % GROUPS,
        first,
        min(tokens - min(first, tokens), BLOCK_ROWS),
        params.first_block + number / GROUPS,
    );

    block_gradients(team, lane, most, rows);
}

// Where what a row of a batch needs lies.
fn term_of(team: Team, number: u32) -> u32 {
    return team.slot * BATCH + number % BATCH;
}

// Whether one of the rows first .. end of a block is taken apart.
fn is_rescued(team: Team, first: u32, end: u32) -> bool {
    var found = false;
    for (var number = first; number < rolled(end); number++) {
        found = found || slopes[term_of(team, number)].rescued;
    }
    return found;
}

// The gradients of a strip, in rows first .. end of a block: chain after chain.
fn strip_gradients(team: Team, o: u32, first: u32, end: u32, rows: u32, is_rare: bool) {
    for (var number = first; number < rolled(end); number = chain_end(number, end)) {
        let stop = chain_end(number, end);
        chain_gradients(team, o, number, stop, rows, is_rare);
        if (stop % LEAF == 0u || stop == team.rows) {
            for (var k = 0u; k < rolled(STRIP); k++) {
                join_leaf(k, number / LEAF);
                clear_sums(k);
            }
        }
    }
}

// Where the chain of a row ends, or the rows do.
fn chain_end(number: u32, end: u32) -> u32 {
    return min((number / LEAF + 1u) * LEAF, end);
}

// The same of rows of one chain. Software drivers run both sides of every branch, but leave a loop that nobody is in: so batches
// without a row that is taken apart have one of their own.
fn chain_gradients(team: Team, o: u32, first: u32, end: u32, rows: u32, is_rare: bool) {
    for (var number = first; number < rolled(select(end, 0u, is_rare)); number++) {
        ordinary_strip(team_row(team, number, rows), o, scales[term_of(team, number)], slopes[term_of(team, number)]);
    }
    for (var number = first; number < rolled(select(0u, end, is_rare)); number++) {
        let row = team_row(team, number, rows);
        let scale = scales[term_of(team, number)];
        let slope = slopes[term_of(team, number)];
        for (var k = 0u; k < rolled(STRIP); k++) {
            let i = o + k * TEAM;
            keep_gradients(row, k, i, gradients_of(i, loaded_at(row, i), strip_channels(k), scale, slope));
        }
    }
}

// Octet k of a strip, o of an ordinary row.
fn ordinary_octet(row: Row, k: u32, o: u32, scale: Scale, slope: Slope) {
    keep_gradients(row, k, o, ordinary_gradients(o, loaded_at(row, o), strip_channels(k), scale, slope));
}

fn keep_gradients(row: Row, k: u32, o: u32, found: Gradients) {
    store_gradients(row, o, found);
    add_to_leaf(k, found);
}

// Leaves the sums of a strip to the second dispatch.
fn keep_strip(team: Team, o: u32) {
    for (var k = 0u; k < rolled(STRIP); k++) {
        if (o + k * TEAM < ROW_OCTETS && team.rows > 0u) {
            keep_sums(team, k, o + k * TEAM);
        }
    }
}
