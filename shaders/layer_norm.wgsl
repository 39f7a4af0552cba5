// LayerNorm
//
// Formula   y = round((x - mean(x)) / sqrt(var(x) + eps) · (w + offset) + b), for every row (every group of a row) of HIDDEN
//           elements. What goes before and after is as in rms_norm.wgsl, and so are bindings and grid.
//
// Work      1. Every lane adds what its elements differ from the row's first, the lanes join: the mean.
//           2. Every lane adds the deviations from that mean, and their squares: the variance, and what the mean was off by.
//           3. The row is read a third time, centred, scaled, weighted, rounded and written (parts/write_rows.wgsl).
//           Rescue as in rms_norm.wgsl.
//
// Numerics  f32 throughout, in the order of src/plan/order.rs. The variance is that of the deviations, never a difference of
//           large squares. The mean is kept in two parts, so that a row of small variations about a large mean loses nothing;
//           a row of equal elements has a variance of exactly 0.

struct Moments {
    mean: f32,
    mean_low: f32,
    squares: f32,
}

// Octet o of a row at the size at which it is summed.
fn sized_octet(row: Row, o: u32, exponent: i32, rescued: bool) -> Octet {
    if (rescued) {
        return scaled(split_or_zero(row, o), exponent);
    }
    return octet_or_zero(row, o);
}

// Its deviations from `center`, zeros behind the row's end.
fn deviations(row: Row, o: u32, center: f32, exponent: i32, rescued: bool) -> Octet {
    let x = sized_octet(row, o, exponent, rescued);
    let d = Octet(opaque(x[0] - vec4<f32>(center)), opaque(x[1] - vec4<f32>(center)));
    // Elements that the octet has.
    let count = vec4<u32>(min(HIDDEN - min(o * 8u, HIDDEN), 8u));
    let none = vec4<f32>(0.0);
    let low = vec4<u32>(0u, 1u, 2u, 3u);
    return Octet(select(none, d[0], low < count), select(none, d[1], low + vec4<u32>(4u) < count));
}

// The moments of a row, of its elements or of them times 2^-exponent. Called by all invocations of a workgroup.
fn moments(slot: u32, invocation: u32, row: Row, exponent: i32, rescued: bool) -> Moments {
    let first = sized_octet(row, 0u, exponent, rescued)[0].x;
    for (var turn = 0u; turn < rolled(BLOCK_TURNS); turn++) {
        let lane = lane_of(turn, invocation);
        let block = block_of(turn);
        var sum = Octet(vec4<f32>(0.0), vec4<f32>(0.0));
        let end = min((block + 1u) * BLOCK, rolled(STEPS));
        for (var step = block * BLOCK; step < end; step++) {
            sum += deviations(row, step * OCTET_LANES + lane, first, exponent, rescued);
        }
        join_block(slot, lane, block, sum);
    }
    let mean = first + opaque_one(join_lanes(slot, invocation) * INVERSE_LENGTH);
    release_lanes();
    for (var turn = 0u; turn < rolled(BLOCK_TURNS); turn++) {
        let lane = lane_of(turn, invocation);
        let block = block_of(turn);
        var sum = Octet(vec4<f32>(0.0), vec4<f32>(0.0));
        var deviation_sum = sum;
        let end = min((block + 1u) * BLOCK, rolled(STEPS));
        for (var step = block * BLOCK; step < end; step++) {
            let d = deviations(row, step * OCTET_LANES + lane, mean, exponent, rescued);
            deviation_sum += d;
            sum += squares_of(d);
        }
        join_block(slot, lane, block, sum);
        join_second_block(slot, lane, block, deviation_sum);
    }
    let squares = join_lanes(slot, invocation);
    let off = join_second_lanes(slot, invocation);
    let mean_low = opaque_one(off * INVERSE_LENGTH);
    let corrected = squares - opaque_one(off * mean_low);
    return Moments(mean, mean_low, select(corrected, 0.0, corrected < 0.0));
}

// Scale and mean of a row. Called by all invocations of a workgroup.
fn row_scale(slot: u32, invocation: u32, row: Row) -> Scale {
    let plain = moments(slot, invocation, row, 0, false);
    let variance = mean_of(plain.squares, params.eps);
    let needed = needs_rescue(plain.squares, variance.high);
    var scale = ordinary_scale(inverse_root(variance));
    scale.mean = plain.mean;
    scale.mean_low = plain.mean_low;
    if (any_rescue(slot, invocation, needed && row.present)) {
        let peak = peak_of(slot, invocation, row);
        let exponent = exponent_of_peak(peak);
        let sized = moments(slot, invocation, row, exponent, true);
        // What is not finite spoils the row.
        let squares = select(sized.squares, bitcast<f32>(0x7fc00000u | params.zero), peak >= PEAK_INFINITE);
        var rescued = rescued_scale(Statistic(squares, exponent));
        rescued.mean = sized.mean;
        rescued.mean_low = sized.mean_low;
        rescued.shift = exponent;
        if (needed) {
            scale = rescued;
        }
    }
    return scale;
}
