// The mean is taken off, in two parts: together they hold it to more bits than f32 has.
fn deviation(x: vec4<f32>, scale: Scale) -> vec4<f32> {
    return opaque(x - vec4<f32>(scale.mean)) - vec4<f32>(scale.mean_low);
}

fn centered(x: Octet, scale: Scale) -> Octet {
    return Octet(deviation(x[0], scale), deviation(x[1], scale));
}

// Of a rescued row, at the size at which its mean was found.
fn centered_split(x: Split, scale: Scale) -> Split {
    if (!scale.rescued) {
        return split(centered(joined(x), scale));
    }
    let s = split(centered(scaled(x, scale.shift), scale));
    let shift = vec4<i32>(scale.shift);
    return Split(s.low, s.high, s.low_exponent + shift, s.high_exponent + shift);
}
