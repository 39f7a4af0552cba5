// What is normalised: the input plus the residual, added in f32 and cast. The sum is written back in the residual's dtype.
fn value_of(x: Octet, p: Octet) -> Octet {
    return cast_sum(Octet(sum_of(x[0], p[0]), sum_of(x[1], p[1])));
}

fn split_of(x: Octet, p: Octet) -> Split {
    return split(value_of(x, p));
}

fn keep_value(row: Row, i: u32, x: Octet) {
    store_residual_out(row.residual_out + i, x);
}

// Elements i .. i + count of a row, 1 to 7.
fn keep_rest(row: Row, i: u32, x: Octet, count: u32) {
    store_residual_out_rest(row.residual_out + i, x, count);
}
