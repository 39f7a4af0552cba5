// The scale of a row, 1/sqrt(squares / n + eps), where n = 1 / INVERSE_LENGTH elements are in the mean, rounded once or nearly so: half an ULP, where plain f32 steps (the product,
// the sum, an inverseSqrt of up to 2 ULP and a Newton step) take one and a half. It is the one number that all elements of a row
// share. Errors of products are found exactly, by halves of 12 bits whose products are exact, so that no fusion can change them.

// An unevaluated sum.
struct Pair {
    high: f32,
    low: f32,
}

// The upper 12 bits of the significand.
fn upper_half(v: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(v) & 0xfffff000u);
}

// a * b - product, where product is a * b as rounded.
fn product_error(a: f32, b: f32, product: f32) -> f32 {
    let a_high = upper_half(a);
    let b_high = upper_half(b);
    let a_low = a - a_high;
    let b_low = b - b_high;
    return (((a_high * b_high - product) + a_high * b_low) + a_low * b_high) + a_low * b_low;
}

// squares / n + eps.
fn mean_of(squares: f32, eps: f32) -> Pair {
    let mean = opaque_one(squares * INVERSE_LENGTH);
    let mean_error = product_error(squares, INVERSE_LENGTH, mean) + opaque_one(squares * INVERSE_LENGTH_LOW);
    let sum = opaque_one(mean + eps);
    let eps_in_sum = opaque_one(sum - mean);
    let sum_error = (mean - (sum - eps_in_sum)) + (eps - eps_in_sum);
    return Pair(sum, mean_error + sum_error);
}

// 1/sqrt(v) for a normal v: a Newton step from inverseSqrt, with the residual 1 - v r r in twice the precision.
fn inverse_root(v: Pair) -> f32 {
    let r = inverseSqrt(v.high);
    let vr = opaque_one(v.high * r);
    let vrr = opaque_one(vr * r);
    let errors = opaque_one(product_error(v.high, r, vr) * r) + opaque_one((v.low * r) * r);
    let residual = ((1.0 - vrr) - product_error(vr, r, vrr)) - errors;
    return r + opaque_one(r * (0.5 * residual));
}
