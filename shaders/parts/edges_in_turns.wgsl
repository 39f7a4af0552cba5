// Rows begin and end within 64-bit words (parts/store_*_shifted.wgsl). TOGETHER of them are whole words, and follow each other in one
// invocation; the first of them begins with a word, maybe before the chunk. At either end of the chunk the others keep their bits.
fn row_shift() -> u32 {
    return params.output_start / TOGETHER_STEP * (HIDDEN / TOGETHER_STEP) % TOGETHER;
}

fn lead_of(row: Row) -> u32 {
    return 0u;
}

fn open_row(row: Row) {
    open_output(row.output);
}

fn store_edges(row: Row, rows: u32, lead: u32, invocation: u32, scale: Scale, before: Scale) {
    if (row.present) {
        let i = HIDDEN / 8u * 8u;
        var v = Octet(vec4<f32>(0.0), vec4<f32>(0.0));
        if (HIDDEN > i) {
            let rest = end_of(row);
            keep_rest(row, i, value_of(rest.x, rest.p), HIDDEN - i);
            v = finish_rest(rest, scale);
        }
        store_output_rest(row.output + i, v, HIDDEN - i);
    }
}
