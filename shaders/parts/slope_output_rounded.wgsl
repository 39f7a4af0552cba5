// The result was rounded.
fn norm_gradient_split(l: Loaded) -> Split {
    return split(cast_normed(joined(opened_split(l))));
}
