// Rows are whole octets: there are no edges.
fn row_shift() -> u32 {
    return 0u;
}

fn lead_of(row: Row) -> u32 {
    return 0u;
}

fn open_row(row: Row) {
}

fn store_edges(row: Row, rows: u32, lead: u32, invocation: u32, scale: Scale, before: Scale) {
}
