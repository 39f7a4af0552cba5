// The same in fractions and exponents, which f32 need not hold.
fn norm_gradient_split(l: Loaded) -> Split {
    let s = split(l.d);
    let low = opening_apart(l.z[0]);
    let high = opening_apart(l.z[1]);
    return renewed(Split(
        s.low * low.factor,
        s.high * high.factor,
        s.low_exponent + low.exponent,
        s.high_exponent + high.exponent,
    ));
}
