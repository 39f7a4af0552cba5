// The same in fractions and exponents. The result was not rounded.
fn norm_gradient_split(l: Loaded) -> Split {
    return times_opening(split(l.d), l);
}
