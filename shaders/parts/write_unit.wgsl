// Writes an octet of a row, where it has as many.
fn write_unit(row: Row, unit: u32, units: u32, w: Octet, b: Octet, scale: Scale) {
    if (unit < units) {
        write_octet(row, unit * 8u, value_at(row, unit * 8u), w, b, scale);
    }
}
