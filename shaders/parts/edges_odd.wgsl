// Rows may begin and end within a word whose other half is none of ours: it keeps its bits.
fn row_shift() -> u32 {
    return 0u;
}

fn lead_of(row: Row) -> u32 {
    return row.output & 1u;
}

fn open_row(row: Row) {
}

fn store_edges(row: Row, rows: u32, lead: u32, invocation: u32, scale: Scale, before: Scale) {
    if (invocation != 0u || !row.present) {
        return;
    }
    // First the head, then the rest: a loop, so that the kernel holds the arithmetic once.
    for (var edge = 0u; edge < 2u; edge++) {
        let at_head = edge == 0u;
        let i = select(lead + (HIDDEN - lead) / 8u * 8u, 0u, at_head);
        let count = select(HIDDEN - i, lead, at_head);
        if (count > 0u) {
            let rest = rest_at(row, i, count);
            keep_rest(row, i, value_of(rest.x, rest.p), count);
            let v = finish_rest(rest, scale);
            if (at_head) {
                store_output_head(row.output, v[0].x);
            } else {
                store_output_rest(row.output + i, v, count);
            }
        }
    }
}
