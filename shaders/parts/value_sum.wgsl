// What is normalised: the input plus the residual, added in f32 and cast. The sum is written back in the residual's dtype.
fn value_of(x: Octet, r: Octet) -> Octet {
    return cast_sum(Octet(sum_of(x[0], r[0]), sum_of(x[1], r[1])));
}

fn residual_before(row: Row, i: u32) -> Octet {
    return load_residual(row.residual + i);
}

fn keep_value(row: Row, i: u32, x: Octet) {
    store_residual_out(row.residual_out + i, x);
}

// Elements i .. i + count of a row, 1 to 7.
fn keep_rest(row: Row, i: u32, x: Octet, count: u32) {
    store_residual_out_rest(row.residual_out + i, x, count);
}
