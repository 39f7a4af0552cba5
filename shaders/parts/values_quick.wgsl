// Elements i .. i + 8 of what is normalised, but for rare ones, which are infinite here: so the sum of squares is, and the row is
// rescued, which takes all apart. (Software drivers run both sides of every branch: they would take every octet apart.)
fn value_at(row: Row, i: u32) -> Octet {
    let x = load_input(row.input + i);
    let p = before_at(row, i);
    return Octet(quick_four(x[0], p[0]), quick_four(x[1], p[1]));
}
