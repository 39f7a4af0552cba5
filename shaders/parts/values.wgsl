// Elements i .. i + 8 of what is normalised.
fn value_at(row: Row, i: u32) -> Octet {
    return value_of(load_input(row.input + i), before_at(row, i));
}
