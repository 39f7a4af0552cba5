// The sum for the slope of a row is of g · x̂: the scale is known before. (Where the sum is of g · x: slope_of_value.wgsl.)
fn slope_factor(l: Loaded, scale: Scale) -> Octet {
    return normalized(value_of(l.x, l.z), scale);
}

fn slope_of_mean(mean: f32, scale: Scale) -> f32 {
    return mean;
}

fn is_extreme(scale: Scale) -> bool {
    return false;
}
