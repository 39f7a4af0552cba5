// Codes by one scale for all rows.
fn codes_of(slot: u32, invocation: u32, row: Row, scale: Scale) -> f32 {
    return 1.0 / params.scale;
}
