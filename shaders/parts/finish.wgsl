// Elements of an ordinary row: x is what is normalised, q what comes after.
fn finish(x: Octet, w: Octet, b: Octet, q: Octet, scale: Scale) -> Octet {
    let plain = normalized(x, scale);
    if (is_far(plain)) {
        return finish_rescued(split(x), w, b, q, scale);
    }
    let n = cast_normalized(plain);
    return after(add_bias(Octet(n[0] * w[0], n[1] * w[1]), w, n, b), n, w, b, q, scale);
}

// Elements of a rescued row.
fn finish_rescued(x: Split, w: Octet, b: Octet, q: Octet, scale: Scale) -> Octet {
    let n = cast_split(normalized_split(x, scale));
    let v = split(w);
    let product = Split(
        n.low * v.low,
        n.high * v.high,
        n.low_exponent + v.low_exponent,
        n.high_exponent + v.high_exponent,
    );
    let y = add_bias(joined(product), w, joined(n), b);
    return after_rescued(y, product, b, q, scale);
}
