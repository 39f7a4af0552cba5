// Rows are whole octets.
fn top_of_rest(invocation: u32, row: Row, scale: Scale) -> u32 {
    return 0u;
}
