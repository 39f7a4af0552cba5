// The first half of a sharded norm
//
// Formula   s and k, two f32 numbers for every row of HIDDEN elements, a part of a longer one: sum(x²) = s · 4^k.
//           k is a whole number, and 0 where the plain sum neither overflowed nor lost bits.
//
// Bindings, grid and order are those of rms_norm.wgsl, of which this is the first step.

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
) {
    let rows = row_count();
    let first = (group.y * grid.x + group.x) * (ROWS_AT_ONCE * ROUNDS);
    if (first >= rows) {
        return;
    }
    let slot = index / WIDTH;
    let invocation = index % WIDTH;
    for (var turn = 0u; turn < ROUNDS; turn++) {
        if (row_number(first, 0u, turn) >= rows) {
            break;
        }
        let row = row_at(row_number(first, slot, turn), rows);
        let squares = plain_sum(slot, invocation, row);
        var statistic = Statistic(squares, 0);
        let needed = needs_rescue(squares, squares);
        if (any_rescue(slot, invocation, needed && row.present)) {
            let rescued = rescued_sum(slot, invocation, row);
            if (needed) {
                statistic = rescued;
            }
        }
        if (invocation == 0u && row.present) {
            store_statistic(row, statistic);
        }
        release_lanes();
    }
}
