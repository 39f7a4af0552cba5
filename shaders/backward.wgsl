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
// Work      1. For each row of the block: its scale, as the forward pass finds it (rms_norm.wgsl, layer_norm.wgsl), or as that saved
//              it; then the slope (parts/row_slope.wgsl). WIDTH invocations share a row, or each has rows of its own.
//           2. Each invocation takes octets of channels, all rows of the block one after the other: a weight is loaded once, and what
//              the rows add to its gradient stays in registers.
//           shaders/grad_channels.wgsl adds up the blocks.
//
// Numerics  f32 throughout. Sums over a row go in the order of src/plan/order.rs, sums over rows in that of src/plan/blocks.rs. Rows
//           whose scale was rescued, or whose g is huge or tiny, are taken apart into fractions and exponents.

// What step 2 needs of every row of the workgroup's blocks.
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

    find_terms(team, lane, most, rows);
    workgroupBarrier();
    var is_rare = false;
    for (var number = 0u; number < rolled(team.rows); number++) {
        is_rare = is_rare || slopes[team.slot * BLOCK_ROWS + number].rescued;
    }
    for (var step = 0u; step < rolled(TEAM_STEPS); step++) {
        let o = step * TEAM + lane;
        if (o < ROW_OCTETS && team.rows > 0u) {
            octet_gradients(team, o, rows, is_rare);
        }
    }
}

// The gradients of eight channels, in all rows of a block. Software drivers run both sides of every branch, but leave a loop that nobody is
// in: so blocks without a row that is taken apart have one of their own.
fn octet_gradients(team: Team, o: u32, rows: u32, is_rare: bool) {
    let channels = channels_at(team_row(team, 0u, rows), o);
    clear_sums();
    for (var number = 0u; number < rolled(select(team.rows, 0u, is_rare)); number++) {
        let row = team_row(team, number, rows);
        let term = team.slot * BLOCK_ROWS + number;
        let found = ordinary_gradients(o, loaded_at(row, o), channels, scales[term], slopes[term]);
        store_gradients(row, o, found);
        add_to_sums(number, team.rows, found);
    }
    for (var number = 0u; number < rolled(select(0u, team.rows, is_rare)); number++) {
        let row = team_row(team, number, rows);
        let term = team.slot * BLOCK_ROWS + number;
        let found = gradients_of(o, loaded_at(row, o), channels, scales[term], slopes[term]);
        store_gradients(row, o, found);
        add_to_sums(number, team.rows, found);
    }
    keep_sums(team, o);
}
