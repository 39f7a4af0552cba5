// The sum for the slope of a row is of g · x, times the scale at the end: so one sweep finds both. Of rows whose scale is beyond 2^20, or
// below 2^-20, products might be lost that are none of g · x̂: these rows are taken apart.
fn slope_factor(l: Loaded, scale: Scale) -> Octet {
    return value_of(l.x, l.z);
}

fn slope_of_mean(mean: f32, scale: Scale) -> f32 {
    return opaque_one(mean * scale.factor);
}

fn is_extreme(scale: Scale) -> bool {
    let bits = bitcast<u32>(scale.factor);
    return bits < 0x35800000u || bits > 0x49800000u;
}
