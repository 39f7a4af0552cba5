// Range rescue. A row whose plain sum of squares overflowed, or is so small that squares may have underflowed, is computed with
// a power-of-two scale s = 2^exponent taken from max(max|x|, sqrt(eps)):
//
//     y = (x/s) · r' · w,   r' = 1/sqrt(mean((x/s)²) + eps/s²)
//
// r itself, which may be subnormal or infinite, is never formed. Numbers are split into fraction and exponent in integers, so
// that subnormals count whatever the driver does with them, and exponents are put back at the very end.

// What turns x into x · r: x · factor for ordinary rows, x · factor · 2^-exponent for rescued ones.
struct Scale {
    factor: f32,
    exponent: i32,
    rescued: bool,
}

// value = fraction · 2^exponent, by components.
struct Split {
    low: vec4<f32>,
    high: vec4<f32>,
    low_exponent: vec4<i32>,
    high_exponent: vec4<i32>,
}

var<workgroup> peaks: array<atomic<u32>, ROWS_AT_ONCE>;

// Below 2^-64 squares of 2^26 elements may have lost more than the sum can bear. Overflow (of the sum, or on adding a huge eps)
// and NaN leave the mean with an exponent of 255.
fn needs_rescue(squares: f32, mean: f32) -> bool {
    return bitcast<u32>(squares) < 0x1f800000u || bitcast<u32>(mean) >= 0x7f800000u;
}

fn magnitude_bits(v: vec4<f32>) -> vec4<u32> {
    return bitcast<vec4<u32>>(v) & vec4<u32>(0x7fffffffu);
}

// 2^n for -126 <= n <= 127.
fn power_of_two(n: vec4<i32>) -> vec4<f32> {
    return bitcast<vec4<f32>>(vec4<u32>(n + vec4<i32>(127)) << vec4<u32>(23u));
}

// v · 2^exponent, rounded once; zero or infinity where that is the result.
fn scale_by(v: vec4<f32>, exponent: vec4<i32>) -> vec4<f32> {
    let bounded = clamp(exponent, vec4<i32>(-250), vec4<i32>(250));
    let half = bounded / vec4<i32>(2);
    return (v * power_of_two(half)) * power_of_two(bounded - half);
}

// The bits of the significand as a number, where v is subnormal; v's own bits elsewhere.
fn normal_bits(v: vec4<f32>) -> vec4<u32> {
    let bits = magnitude_bits(v);
    return select(bits, bitcast<vec4<u32>>(vec4<f32>(bits)), bits < vec4<u32>(0x800000u));
}

// In [1, 2) with the sign of v; zeros, infinities and NaNs stay what they are.
fn fraction_of(v: vec4<f32>) -> vec4<f32> {
    let bits = bitcast<vec4<u32>>(v);
    let magnitude = magnitude_bits(v);
    let fraction = (bits & vec4<u32>(0x80000000u)) | (normal_bits(v) & vec4<u32>(0x7fffffu)) | vec4<u32>(0x3f800000u);
    let keep = (magnitude == vec4<u32>(0u)) | (magnitude >= vec4<u32>(0x7f800000u));
    return bitcast<vec4<f32>>(select(fraction, bits, keep));
}

fn exponent_of(v: vec4<f32>) -> vec4<i32> {
    let magnitude = magnitude_bits(v);
    let biased = vec4<i32>(normal_bits(v) >> vec4<u32>(23u)) - vec4<i32>(127);
    let exponent = select(biased, biased - vec4<i32>(149), magnitude < vec4<u32>(0x800000u));
    let keep = (magnitude == vec4<u32>(0u)) | (magnitude >= vec4<u32>(0x7f800000u));
    return select(exponent, vec4<i32>(0), keep);
}

fn split(v: Octet) -> Split {
    return Split(fraction_of(v[0]), fraction_of(v[1]), exponent_of(v[0]), exponent_of(v[1]));
}

fn joined(s: Split) -> Octet {
    return Octet(scale_by(s.low, s.low_exponent), scale_by(s.high, s.high_exponent));
}

// |v| · 2^-exponent, or zero where its square would vanish beside 1.
fn scaled_four(v: vec4<f32>, exponent: i32) -> vec4<f32> {
    let e = exponent_of(v) - vec4<i32>(exponent);
    let kept = fraction_of(v) * power_of_two(clamp(e, vec4<i32>(-60), vec4<i32>(0)));
    return select(kept, vec4<f32>(0.0), e < vec4<i32>(-60));
}

fn scaled(v: Octet, exponent: i32) -> Octet {
    return Octet(scaled_four(v[0], exponent), scaled_four(v[1], exponent));
}

// lane_sums with scaled elements, in the same order.
fn scaled_lane_sums(row: Row, lane: u32, exponent: i32) -> Octet {
    begin_blocks();
    for (var block = 0u; block < BLOCKS; block++) {
        var sum = Octet(vec4<f32>(0.0), vec4<f32>(0.0));
        let end = min((block + 1u) * BLOCK, STEPS);
        for (var step = block * BLOCK; step < end; step++) {
            sum += squares_of(scaled(octet_or_zero(row, step * OCTET_LANES + lane), exponent));
        }
        join_block(block, sum);
    }
    return joined_blocks();
}

// The scale of a row by rescue. Called by all invocations of a workgroup; the barriers are in uniform control flow.
fn rescued_scale(slot: u32, invocation: u32, row: Row) -> Scale {
    if (invocation == 0u) {
        atomicStore(&peaks[slot], 0u);
    }
    workgroupBarrier();
    var peak = 0u;
    for (var step = 0u; step < INPUT_STEPS; step++) {
        let v = octet_or_zero(row, step * WIDTH + invocation);
        let four = max(magnitude_bits(v[0]), magnitude_bits(v[1]));
        peak = max(peak, max(max(four.x, four.y), max(four.z, four.w)));
    }
    atomicMax(&peaks[slot], peak);
    workgroupBarrier();
    let top = bitcast<f32>(atomicLoad(&peaks[slot]));
    let top_bits = bitcast<u32>(top);
    let exponent = max(exponent_of(vec4<f32>(top)).x, params.eps_exponent >> 1u);
    for (var lane = invocation; lane < OCTET_LANES; lane += WIDTH) {
        keep_pair(slot, lane, scaled_lane_sums(row, lane, exponent));
    }
    let squares = join_lanes(slot, invocation);
    let eps = scale_by(vec4<f32>(params.eps_fraction), vec4<i32>(params.eps_exponent - 2 * exponent)).x;
    let factor = inverse_root(mean_of(squares, eps));
    // A NaN spoils the row; an infinity divides finite elements to zero; a zero row stays zero. The sums were of no use then,
    // but their barriers are everyone's.
    if (top_bits > 0x7f800000u) {
        return Scale(top, 0, true);
    }
    if (top_bits == 0x7f800000u || top_bits == 0u) {
        return Scale(0.0, 0, true);
    }
    return Scale(factor, exponent, true);
}

// Elements first .. first + 8 of a rescued row.
fn finish_rescued(x: Octet, w: Octet, b: Octet, scale: Scale) -> Octet {
    let s = split(x);
    let shift = vec4<i32>(scale.exponent);
    let n = cast_split(Split(s.low * scale.factor, s.high * scale.factor, s.low_exponent - shift, s.high_exponent - shift));
    let v = split(w);
    let y = joined(Split(
        n.low * v.low,
        n.high * v.high,
        n.low_exponent + v.low_exponent,
        n.high_exponent + v.high_exponent,
    ));
    return add_bias(y, w, joined(n), b);
}
