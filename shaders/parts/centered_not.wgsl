// x · r: nothing is taken off.
fn normalized(x: Octet, scale: Scale) -> Octet {
    return Octet(x[0] * scale.factor, x[1] * scale.factor);
}

fn normalized_split(x: Split, scale: Scale) -> Split {
    let shift = vec4<i32>(scale.exponent);
    return Split(x.low * scale.factor, x.high * scale.factor, x.low_exponent - shift, x.high_exponent - shift);
}
