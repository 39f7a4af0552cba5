// The same in fractions and exponents: of what it was rounded to.
fn norm_gradient_split(l: Loaded) -> Split {
    return split(norm_gradient(l));
}
