// How a row's largest magnitude is told: 0 for zeros, else its exponent plus LARGEST_EXPONENT, or one of these.
const PEAK_INFINITE: u32 = 0x10000u;
const PEAK_NAN: u32 = 0x10001u;

fn peak_of_four(fraction: vec4<f32>, exponent: vec4<i32>) -> u32 {
    let magnitude = magnitude_bits(fraction);
    var keys = vec4<u32>(exponent + vec4<i32>(LARGEST_EXPONENT));
    keys = select(keys, vec4<u32>(0u), magnitude == vec4<u32>(0u));
    keys = select(keys, vec4<u32>(PEAK_INFINITE), magnitude == vec4<u32>(0x7f800000u));
    keys = select(keys, vec4<u32>(PEAK_NAN), magnitude > vec4<u32>(0x7f800000u));
    return max(max(keys.x, keys.y), max(keys.z, keys.w));
}

// The largest magnitude of a row. Called by all invocations of a workgroup.
fn peak_of(slot: u32, invocation: u32, row: Row) -> u32 {
    var peak = 0u;
    for (var step = 0u; step < rolled(INPUT_STEPS); step++) {
        let s = split_or_zero(row, step * WIDTH + invocation);
        peak = max(peak, max(peak_of_four(s.low, s.low_exponent), peak_of_four(s.high, s.high_exponent)));
    }
    return join_maxima(slot, invocation, peak);
}

fn exponent_of_peak(peak: u32) -> i32 {
    return i32(min(peak, PEAK_INFINITE)) - LARGEST_EXPONENT;
}

// The infinity or NaN that a row holds.
fn not_finite(peak: u32) -> f32 {
    return bitcast<f32>(select(0x7f800000u, 0x7fc00000u, peak == PEAK_NAN));
}
