// What is normalised: the input times what the gate opens to, in f32. Nothing of it is kept.
fn gated_four(x: vec4<f32>, z: vec4<f32>) -> vec4<f32> {
    let g = opening(z);
    let plain = plain_product(x, g);
    let rare = is_rare_product(x, z, g);
    if (!any(rare)) {
        return plain;
    }
    let apart = opening_apart(z);
    let product = fraction_of(x) * fraction_of(apart.factor);
    let exponent = exponent_of(x) + exponent_of(apart.factor) + apart.exponent;
    return opaque(select(plain, scale_by(product, exponent), rare));
}

fn plain_product(x: vec4<f32>, g: Opening) -> vec4<f32> {
    return opaque(x * (g.factor * power_of_two(max(g.exponent, vec4<i32>(-126)))));
}

// Whether one of the two is so small that it may be flushed, though not zero: then the other may bring it back.
fn is_rare_product(x: vec4<f32>, z: vec4<f32>, g: Opening) -> vec4<bool> {
    let size = magnitude_bits(x);
    let of_gate = magnitude_bits(z);
    // A zero, less one, is the largest of all.
    let tiny = min(size - vec4<u32>(1u), of_gate - vec4<u32>(1u)) < vec4<u32>(0x00ffffffu);
    return tiny | ((g.exponent < vec4<i32>(-80)) & (size != vec4<u32>(0u)));
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
