// The same in fractions and exponents. The result was rounded.
fn norm_gradient_split(l: Loaded) -> Split {
    return split(cast_normed(joined(times_opening(split(l.d), l))));
}
