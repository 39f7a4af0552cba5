// The scale of a row and its slope, in one sweep.
fn squares_for_scale(x: Octet) -> Octet {
    return squares_of(x);
}

fn terms_of(slot: u32, invocation: u32, row: Row) -> Terms {
    let peak = add_up_slope(slot, invocation, row, ordinary_scale(1.0));
    let scale = scale_of_squares(slot, invocation, row, join_lanes(slot, invocation));
    return Terms(scale, slope_of_sums(slot, invocation, row, scale, peak));
}
