// Rows may begin and end within a word whose other half is none of ours: it keeps its bits.
fn pair_shift() -> u32 {
    return 0u;
}

fn lead_of(row: Row) -> u32 {
    return row.output & 1u;
}

fn store_edges(row: Row, rows: u32, lead: u32, invocation: u32, scale: Scale, before: Scale) {
    if (invocation == 0u && row.present) {
        if (lead == 1u) {
            store_output_head(row.output, finished_rest(row.input, 0u, 1u, scale)[0].x);
        }
        let i = lead + (HIDDEN - lead) / 8u * 8u;
        if (i < HIDDEN) {
            store_output_rest(row.output + i, finished_rest(row.input, i, HIDDEN - i, scale), HIDDEN - i);
        }
    }
}
