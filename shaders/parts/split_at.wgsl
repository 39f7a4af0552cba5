// Elements i .. i + 8 of what is normalised, as fractions and exponents.
fn split_at(row: Row, i: u32) -> Split {
    return split_of(load_input(row.input + i), before_at(row, i));
}
