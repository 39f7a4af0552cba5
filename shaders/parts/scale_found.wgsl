// The scale of a row is found as the forward pass finds it.
fn scale_of(slot: u32, invocation: u32, row: Row) -> Scale {
    return row_scale(slot, invocation, row);
}
