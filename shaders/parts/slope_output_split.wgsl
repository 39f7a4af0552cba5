// The result was not rounded.
fn norm_gradient_split(l: Loaded) -> Split {
    return opened_split(l);
}
