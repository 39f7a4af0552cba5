// Rows lie without a gap and have an odd length: the word that holds the end of one row and the start of the next is written
// once, by the invocation that handles both, on the later row's turn. At either end of the chunk its other half keeps its bits.
fn row_shift() -> u32 {
    return params.output_start & 1u;
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
    let shared_word = lead == 1u && row.number > 0u;
    var end_before = 0.0;
    // The end of the row before, the head, the rest: a loop, so that the kernel holds the arithmetic once.
    for (var edge = 0u; edge < 3u; edge++) {
        var its_row = row;
        var its_scale = scale;
        var i = 0u;
        var count = lead;
        if (edge == 0u) {
            its_row = row_at(row.number - 1u, rows);
            its_scale = before;
            i = HIDDEN - 1u;
            count = u32(shared_word);
        } else if (edge == 2u) {
            i = lead + (HIDDEN - lead) / 8u * 8u;
            // An element that the next row writes is not ours.
            let open = ((row.output + HIDDEN) & 1u) == 1u;
            count = HIDDEN - i - select(0u, 1u, open && row.number + 1u < rows);
        }
        if (count > 0u) {
            let rest = rest_at(its_row, i, count);
            let v = finish_rest(rest, its_scale);
            if (edge == 0u) {
                end_before = v[0].x;
            } else if (edge == 2u) {
                store_output_rest(row.output + i, v, count);
            } else if (shared_word) {
                store_output_shared(row.output, end_before, v[0].x);
            } else {
                store_output_head(row.output, v[0].x);
            }
        }
    }
}
