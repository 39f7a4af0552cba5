// Rows lie without a gap and have an odd length: the word that holds the end of one row and the start of the next is written
// once, by the invocation that handles both, on the later row's turn. At either end of the chunk its other half keeps its bits.
fn pair_shift() -> u32 {
    return params.output_start & 1u;
}

fn lead_of(row: Row) -> u32 {
    return row.output & 1u;
}

fn store_edges(row: Row, rows: u32, lead: u32, invocation: u32, scale: Scale, before: Scale) {
    if (invocation == 0u && row.present) {
        if (lead == 1u) {
            let head = finished_rest(row.input, 0u, 1u, scale)[0].x;
            if (row.number > 0u) {
                let end = finished_rest(row.input - params.input_stride, HIDDEN - 1u, 1u, before)[0].x;
                store_output_shared(row.output, end, head);
            } else {
                store_output_head(row.output, head);
            }
        }
        let i = lead + (HIDDEN - lead) / 8u * 8u;
        let open = ((row.output + HIDDEN) & 1u) == 1u;
        // An element that the next row writes is not ours.
        let count = HIDDEN - i - select(0u, 1u, open && row.number + 1u < rows);
        if (count > 0u) {
            store_output_rest(row.output + i, finished_rest(row.input, i, count, scale), count);
        }
    }
}
