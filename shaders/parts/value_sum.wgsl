// What is normalised: the input plus the residual, added in f32. The sum is written back, rounded to the residual's dtype.
fn value_at(row: Row, i: u32) -> Octet {
    let x = load_input(row.input + i);
    let r = load_residual(row.residual + i);
    return cast_sum(Octet(sum_exact(x[0], r[0]), sum_exact(x[1], r[1])));
}

fn value_one(row: Row, i: u32) -> f32 {
    let sum = sum_exact(vec4<f32>(load_input_one(row.input + i)), vec4<f32>(load_residual_one(row.residual + i)));
    return cast_sum(Octet(sum, sum))[0].x;
}

fn keep_value(row: Row, i: u32, x: Octet) {
    store_residual_out(row.residual_out + i, x);
}

// Elements i .. i + count of the row, 1 to 7.
fn keep_rest(row: Row, i: u32, count: u32) {
    for (var k = 0u; k < count; k++) {
        store_residual_out_one(row.residual_out + i + k, value_one(row, i + k));
    }
}
