// Rows begin with a whole word and end within an octet.
fn row_shift() -> u32 {
    return 0u;
}

fn lead_of(row: Row) -> u32 {
    return 0u;
}

fn open_row(row: Row) {
}

fn store_edges(row: Row, rows: u32, lead: u32, invocation: u32, scale: Scale, before: Scale) {
    if (invocation == 0u && row.present) {
        let i = HIDDEN / 8u * 8u;
        let rest = end_of(row);
        keep_rest(row, i, value_of(rest.x, rest.p), HIDDEN - i);
        store_output_rest(row.output + i, finish_rest(rest, scale), HIDDEN - i);
    }
}
