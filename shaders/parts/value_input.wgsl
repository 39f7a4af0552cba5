// What is normalised: the input. Nothing of it is kept.
fn value_of(x: Octet, p: Octet) -> Octet {
    return x;
}

fn split_of(x: Octet, p: Octet) -> Split {
    return split(x);
}

fn keep_value(row: Row, i: u32, x: Octet) {
}

fn keep_rest(row: Row, i: u32, x: Octet, count: u32) {
}
