// First the scale of a row, then its slope.
fn squares_for_scale(x: Octet) -> Octet {
    return x;
}

fn terms_of(slot: u32, invocation: u32, row: Row) -> Terms {
    let scale = scale_of(slot, invocation, row);
    let peak = add_up_slope(slot, invocation, row, scale);
    return Terms(scale, slope_of_sums(slot, invocation, row, scale, peak));
}
