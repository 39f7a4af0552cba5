// (x - mean) · r. The mean comes in two parts, which hold it to more bits than f32 has, and what the difference rounds away (found
// exactly: Knuth's sum of two) joins its lower part: two roundings, of the product and of the sum, are all that is left.
fn normalized_four(x: vec4<f32>, scale: Scale) -> vec4<f32> {
    let mean = vec4<f32>(scale.mean);
    let d = opaque(x - mean);
    let taken = opaque(d - x);
    let rounded_away = (x - opaque(d - taken)) - opaque(mean + taken);
    let low = rounded_away - vec4<f32>(scale.mean_low);
    return opaque(d * scale.factor) + opaque(low * scale.factor);
}

fn normalized(x: Octet, scale: Scale) -> Octet {
    return Octet(normalized_four(x[0], scale), normalized_four(x[1], scale));
}

// Of a rescued row, at the size at which its mean was found.
fn normalized_split(x: Split, scale: Scale) -> Split {
    if (!scale.rescued) {
        return split(normalized(joined(x), scale));
    }
    let n = split(normalized(scaled(x, scale.shift), scale));
    let shift = vec4<i32>(scale.shift - scale.exponent);
    return Split(n.low, n.high, n.low_exponent + shift, n.high_exponent + shift);
}
