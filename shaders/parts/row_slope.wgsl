// The slope of a row: what its gradients need beside its scale. along · 2^along_exponent is the mean of g · x̂, level · 2^level_exponent
// in a LayerNorm the mean of g; the exponents of ordinary rows are 0.
struct Slope {
    along: f32,
    along_exponent: i32,
    level: f32,
    level_exponent: i32,
    rescued: bool,
}

fn largest_bits(v: Octet) -> u32 {
    let four = max(magnitude_bits(v[0]), magnitude_bits(v[1]));
    return max(max(four.x, four.y), max(four.z, four.w));
}

// Sums of products of more than SLOPE_LARGEST, or of less than SLOPE_SMALLEST, may leave f32's range, or lose bits.
fn slope_needs_rescue(peak: u32) -> bool {
    return peak >= SLOPE_LARGEST || (peak != 0u && peak < SLOPE_SMALLEST);
}

// What a block of a lane adds to the sums of a row, and the largest magnitude of g as bits.
struct BlockSums {
    squares: Octet, // of what is normalised, where its scale is found at the same time
    along: Octet,   // of g · x̂, or g · x
    level: Octet,   // of g
    peak: u32,
}

fn slope_block(row: Row, lane: u32, block: u32, scale: Scale) -> BlockSums {
    let zero = Octet(vec4<f32>(0.0), vec4<f32>(0.0));
    var sums = BlockSums(zero, zero, zero, 0u);
    let end = min((block + 1u) * BLOCK, rolled(SLOPE_STEPS));
    for (var step = block * BLOCK; step < end; step++) {
        let o = step * OCTET_LANES + lane;
        let l = loaded_at(row, o);
        let g = weighted_gradient(l, channels_at(row, o));
        let x = slope_factor(l, scale);
        sums.peak = max(sums.peak, max(largest_bits(g), far_bits(g, x)));
        sums.squares += squares_for_scale(x);
        sums.along += products_of(g, x);
        sums.level += g;
    }
    return sums;
}

// The slope of a row from the sums of its blocks, and the largest magnitude that this invocation saw. Called by all invocations of a
// workgroup.
fn slope_of_sums(slot: u32, invocation: u32, row: Row, scale: Scale, peak: u32) -> Slope {
    let mean_along = slope_of_mean(opaque_one(join_slope_lanes(slot, invocation) * INVERSE_LENGTH), scale);
    let mean_level = opaque_one(joined_level(slot, invocation) * INVERSE_LENGTH);
    let largest = join_maxima(slot, invocation, peak);
    var slope = Slope(mean_along, 0, mean_level, 0, false);
    let needed = scale.rescued || is_extreme(scale) || slope_needs_rescue(largest);
    if (any_rescue(slot, invocation, needed && row.present)) {
        let rescued = rescued_slope(slot, invocation, row, scale);
        if (needed) {
            slope = rescued;
        }
    }
    return slope;
}

fn products_of(a: Octet, b: Octet) -> Octet {
    return Octet(opaque(a[0] * b[0]), opaque(a[1] * b[1]));
}

fn split_products(a: Split, b: Split) -> Split {
    return renewed(Split(
        a.low * b.low,
        a.high * b.high,
        a.low_exponent + b.low_exponent,
        a.high_exponent + b.high_exponent,
    ));
}

fn peak_of_split(s: Split) -> u32 {
    return max(peak_of_four(s.low, s.low_exponent), peak_of_four(s.high, s.high_exponent));
}

// The same of a row that is taken apart: a first sweep finds the largest terms, a second one sums each at the size of its largest. Both are
// one text, for compilers take their time over it.
fn rescued_slope(slot: u32, invocation: u32, row: Row, scale: Scale) -> Slope {
    var along_peak = 0u;
    var level_peak = 0u;
    var along_exponent = 0;
    var level_exponent = 0;
    for (var sweep = 0u; sweep < rolled(2u); sweep++) {
        for (var turn = 0u; turn < rolled(SLOPE_TURNS); turn++) {
            let lane = turn / SLOPE_BLOCKS * WIDTH + invocation;
            let block = turn % SLOPE_BLOCKS;
            var along = Octet(vec4<f32>(0.0), vec4<f32>(0.0));
            var level = along;
            let end = min((block + 1u) * BLOCK, rolled(SLOPE_STEPS));
            for (var step = block * BLOCK; step < end; step++) {
                let o = step * OCTET_LANES + lane;
                let term = split_term(loaded_at(row, o), channels_at(row, o), scale);
                let product = split_products(term.weighted, term.normalized);
                if (sweep == 0u) {
                    along_peak = max(along_peak, peak_of_split(product));
                    level_peak = max(level_peak, peak_of_split(term.weighted));
                } else {
                    along += scaled(product, along_exponent);
                    level += scaled(term.weighted, level_exponent);
                }
            }
            if (sweep > 0u) {
                join_slope_block(slot, lane, block, along);
                join_level(slot, lane, block, level);
            }
        }
        if (sweep == 0u) {
            along_peak = join_maxima(slot, invocation, along_peak);
            level_peak = join_maxima(slot, invocation, level_peak);
            along_exponent = exponent_of_peak(along_peak);
            level_exponent = exponent_of_peak(level_peak);
            release_lanes();
        }
    }
    var mean_along = opaque_one(join_slope_lanes(slot, invocation) * INVERSE_LENGTH);
    var mean_level = opaque_one(joined_level(slot, invocation) * INVERSE_LENGTH);
    // What is not finite spoils the row; the mean of zeros is zero.
    if (along_peak >= PEAK_INFINITE || level_peak >= PEAK_INFINITE) {
        mean_along = not_finite(PEAK_NAN);
        mean_level = mean_along;
    }
    return Slope(
        mean_along,
        select(along_exponent, 0, along_peak == 0u),
        mean_level,
        select(level_exponent, 0, level_peak == 0u),
        true,
    );
}
