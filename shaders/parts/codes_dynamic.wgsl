// Codes by a scale of each row: max|y| / LARGEST_CODE, at least the smallest normal number, 1 for a row of zeros. It is written.
// Where r · max|x · w| is max|y|, the first sweep has found it already (parts/note_product.wgsl); where it is not, or left f32's
// range, y is computed twice.
fn top_of(v: Octet) -> u32 {
    let four = max(magnitude_bits(v[0]), magnitude_bits(v[1]));
    return max(max(four.x, four.y), max(four.z, four.w));
}

// The largest |y| that an invocation computes.
fn top_result(invocation: u32, row: Row, scale: Scale) -> u32 {
    var top = 0u;
    for (var step = 0u; step < rolled(OUTPUT_STEPS); step++) {
        let unit = step * WIDTH + invocation;
        if (unit < HIDDEN / 8u) {
            let i = unit * 8u;
            let w = weight_at(row, i);
            let b = bias_at(row, i);
            if (scale.rescued) {
                top = max(top, top_of(finish_rescued(split_at(row, i), w, b, after_at(row, i), scale)));
            } else {
                top = max(top, top_of(finish(value_at(row, i), w, b, after_at(row, i), scale)));
            }
        }
    }
    return max(top, top_of_rest(invocation, row, scale));
}

fn codes_of(slot: u32, invocation: u32, row: Row, scale: Scale) -> f32 {
    let product = join_maxima(slot, invocation, noted_top);
    noted_top = 0u;
    var top = bitcast<f32>(product) * scale.factor;
    let needed = !PRODUCT_WILL_DO || scale.rescued || product < 0x0d800000u || product >= 0x71800000u;
    if (any_rescue(slot, invocation, needed && row.present)) {
        let result = join_maxima(slot, invocation, top_result(invocation, row, scale));
        if (needed) {
            top = bitcast<f32>(result);
        }
    }
    let bits = bitcast<u32>(top);
    var code_scale = top * (1.0 / LARGEST_CODE);
    code_scale = select(code_scale, 0x1p-126f, bitcast<u32>(code_scale) < 0x00800000u);
    code_scale = select(code_scale, 1.0, bits == 0u);
    if (invocation == 0u && row.present) {
        set_BUFFER_one(row.scale, bitcast<u32>(code_scale));
    }
    return 1.0 / code_scale;
}
