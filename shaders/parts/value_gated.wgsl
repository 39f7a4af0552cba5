// What is normalised: the input times what the gate opens to, in f32. Nothing of it is kept.
fn gated_four(x: vec4<f32>, z: vec4<f32>) -> vec4<f32> {
    let g = opening(z);
    let plain = x * (g.factor * power_of_two(max(g.exponent, vec4<i32>(-126))));
    // Where one of the two is so small that it may be flushed, the other may bring it back.
    let tiny = min(magnitude_bits(x), magnitude_bits(z)) < vec4<u32>(0x01000000u);
    let rare = (g.exponent < vec4<i32>(-80)) | tiny;
    if (!any(rare)) {
        return opaque(plain);
    }
    let apart = opening_apart(z);
    let product = fraction_of(x) * fraction_of(apart.factor);
    let exponent = exponent_of(x) + exponent_of(apart.factor) + apart.exponent;
    return opaque(select(plain, scale_by(product, exponent), rare));
}

fn value_of(x: Octet, p: Octet) -> Octet {
    return Octet(gated_four(x[0], p[0]), gated_four(x[1], p[1]));
}

// The product in fractions and exponents, which f32 need not hold.
fn split_of(x: Octet, p: Octet) -> Split {
    let s = split(x);
    let low = opening_apart(p[0]);
    let high = opening_apart(p[1]);
    let product = split(Octet(s.low * low.factor, s.high * high.factor));
    return Split(
        product.low,
        product.high,
        product.low_exponent + s.low_exponent + low.exponent,
        product.high_exponent + s.high_exponent + high.exponent,
    );
}

fn keep_value(row: Row, i: u32, x: Octet) {
}

fn keep_rest(row: Row, i: u32, x: Octet, count: u32) {
}
