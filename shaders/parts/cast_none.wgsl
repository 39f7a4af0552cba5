// Nothing is rounded before the weight.
fn cast_normalized(n: Octet) -> Octet {
    return n;
}

fn cast_split(n: Split) -> Split {
    return n;
}
