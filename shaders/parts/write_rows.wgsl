// The rows of a workgroup, one after the other: the scale of each, and then the row. Elements are written in octets from `lead`,
// the first that begins a word; what is before and behind them is the edges' business.
fn norm_rows(group: u32, index: u32) {
    let rows = row_count();
    let shift = row_shift();
    let first = group / PIECES * (ROWS_AT_ONCE * ROUNDS);
    if (first >= rows + shift) {
        return;
    }
    piece = group % PIECES;
    let slot = index / WIDTH;
    let invocation = index % WIDTH;
    // What is written once a row, the first invocation of its first piece writes.
    let one = piece * WIDTH + invocation;
    var before = ordinary_scale(0.0);
    keep_channels(row_at(0u, rows));

    for (var turn = 0u; turn < ROUNDS; turn++) {
        if (row_number(first, 0u, turn) >= rows + shift) {
            break;
        }
        // With a shift, the first number wraps: that row is absent.
        let row = row_at(row_number(first, slot, turn) - shift, rows);
        var scale = row_scale(slot, invocation, row);
        keep_rstd(row, one, scale);
        scale.codes = codes_of(slot, invocation, row, scale);

        let lead = lead_of(row);
        let units = select(0u, (HIDDEN - lead) / 8u, row.present);
        open_row(row);
        // All invocations take part, for some load what others need.
        write_ordinary(row, invocation, lead, select(units, 0u, scale.rescued), scale);
        if (scale.rescued) {
            for (var step = 0u; step < rolled(OUTPUT_STEPS); step++) {
                let unit = (piece * OUTPUT_STEPS + step) * WIDTH + invocation;
                if (unit < units) {
                    let i = lead + unit * 8u;
                    let x = load_input(row.input + i);
                    let p = before_at(row, i);
                    keep_value(row, i, value_of(x, p));
                    let y = finish_rescued(split_of(x, p), weight_at(row, i), bias_at(row, i), after_at(row, i), scale);
                    store_output(row.output + i, y);
                }
            }
        }
        store_edges(row, rows, lead, one, scale, before);
        before = scale;
        release_lanes();
    }
}
