// Writes elements i .. i + 8 of an ordinary row: x is what is normalised, w and b are factors and summands.
fn write_octet(row: Row, i: u32, x: Octet, w: Octet, b: Octet, scale: Scale) {
    keep_value(row, i, x);
    store_output(row.output + i, finish(x, w, b, after_at(row, i), scale));
}
