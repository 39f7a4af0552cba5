// The gradient of the norm's result is that of the output.
fn norm_gradient(l: Loaded) -> Octet {
    return l.d;
}

fn norm_gradient_split(l: Loaded) -> Split {
    return split(l.d);
}
