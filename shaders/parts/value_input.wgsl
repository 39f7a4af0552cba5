// What is normalised: the input.
fn value_at(row: Row, i: u32) -> Octet {
    return load_input(row.input + i);
}

fn value_one(row: Row, i: u32) -> f32 {
    return load_input_one(row.input + i);
}

// Nothing of it is kept.
fn keep_value(row: Row, i: u32, x: Octet) {
}

fn keep_rest(row: Row, i: u32, count: u32) {
}
