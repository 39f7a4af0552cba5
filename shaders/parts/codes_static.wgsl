// Codes by one scale for all rows.
fn codes_of(slot: u32, invocation: u32, row: Row, scale: Scale) -> f32 {
    return 1.0 / params.scale;
}

fn quantized(y: Octet, scale: Scale) -> Octet {
    return Octet(y[0] * scale.codes, y[1] * scale.codes);
}
