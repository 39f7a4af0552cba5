// An ordinary row is read again and written. (Where it was kept: src/shader/kept.rs.)
fn write_ordinary(row: Row, invocation: u32, lead: u32, units: u32, scale: Scale) {
    for (var step = 0u; step < rolled(OUTPUT_STEPS); step++) {
        let unit = (piece * OUTPUT_STEPS + step) * WIDTH + invocation;
        if (unit < units) {
            let i = lead + unit * 8u;
            write_octet(row, i, value_at(row, i), weight_at(row, i), bias_at(row, i), scale);
        }
    }
}
