// Range rescue. A row whose plain sum of squares overflowed, or is so small that squares may have underflowed, is computed with
// a power-of-two scale s = 2^exponent taken from max|x|, and another one from eps:
//
//     sum of squares = sum((x/s)²) · s²,   y = (x/t) · r' · w,   r' = 1/sqrt(mean(x²)/t² + eps/t²),   t = max(s, sqrt(eps))
//
// r itself, which may be subnormal or infinite, is never formed. Numbers are split into fraction and exponent in integers, so
// that subnormals count whatever the driver does with them, and exponents are put back at the very end.

// What turns x into x · r: x · factor for ordinary rows, x · factor · 2^-exponent for rescued ones.
struct Scale {
    factor: f32,
    exponent: i32,
    rescued: bool,
    // What is taken off x first, an unevaluated sum; of rescued rows it is taken off x · 2^-shift.
    mean: f32,
    mean_low: f32,
    shift: i32,
    // What the result is multiplied by to be rounded to codes.
    codes: f32,
}

// sum · 4^exponent.
struct Statistic {
    sum: f32,
    exponent: i32,
}

// value = fraction · 2^exponent, by components.
struct Split {
    low: vec4<f32>,
    high: vec4<f32>,
    low_exponent: vec4<i32>,
    high_exponent: vec4<i32>,
}

// More than any exponent here.
const LARGEST_EXPONENT: i32 = 8192;

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

// |v| · 2^-exponent with its sign, or zero where its square would vanish beside 1.
fn scaled_four(fraction: vec4<f32>, its_exponent: vec4<i32>, exponent: i32) -> vec4<f32> {
    let e = its_exponent - vec4<i32>(exponent);
    let kept = fraction * power_of_two(clamp(e, vec4<i32>(-60), vec4<i32>(0)));
    return select(kept, vec4<f32>(0.0), e < vec4<i32>(-60));
}

fn scaled(s: Split, exponent: i32) -> Octet {
    return Octet(scaled_four(s.low, s.low_exponent, exponent), scaled_four(s.high, s.high_exponent, exponent));
}

fn ordinary_scale(factor: f32) -> Scale {
    return Scale(factor, 0, false, 0.0, 0.0, 0, 1.0);
}

// The scale of a sum of squares by rescue.
fn rescued_scale(statistic: Statistic) -> Scale {
    var scale = Scale(statistic.sum, 0, true, 0.0, 0.0, 0, 1.0);
    // A NaN spoils the row; an infinity divides finite elements to zero.
    let bits = bitcast<u32>(statistic.sum) & 0x7fffffffu;
    if (bits >= 0x7f800000u) {
        scale.factor = select(statistic.sum, 0.0, bits == 0x7f800000u);
        return scale;
    }
    scale.exponent = max(select(statistic.exponent, -LARGEST_EXPONENT, bits == 0u), params.eps_exponent >> 1u);
    let sum = scale_by(vec4<f32>(statistic.sum), vec4<i32>(2 * (statistic.exponent - scale.exponent))).x;
    let eps = scale_by(vec4<f32>(params.eps_fraction), vec4<i32>(params.eps_exponent - 2 * scale.exponent)).x;
    let mean = mean_of(sum, eps);
    // A zero row with eps 0 stays zero.
    scale.factor = select(inverse_root(mean), 0.0, mean.high == 0.0);
    return scale;
}
