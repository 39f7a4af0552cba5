// The scale of a row is not kept.
fn keep_rstd(row: Row, invocation: u32, scale: Scale) {
}
