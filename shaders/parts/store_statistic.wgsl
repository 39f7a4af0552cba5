// The output: a sum and an exponent for each row.
fn store_statistic(row: Row, statistic: Statistic) {
    set_BUFFER_one(row.output, bitcast<u32>(statistic.sum));
    set_BUFFER_one(row.output + 1u, bitcast<u32>(f32(statistic.exponent)));
}
