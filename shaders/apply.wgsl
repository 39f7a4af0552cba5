// The second half of a sharded norm
//
// Formula   y = round(x / sqrt(mean + eps) · (w + offset) + b), mean = sum(s · 4^k) / n: s and k are what `stats` found for each of
//           the SHARDS parts of a row, of which x is one, and n counts the elements of them all.
//
// Bindings  and grid are those of rms_norm.wgsl; `statistics` holds s and k of every shard, row by row.
//
// Work      Every invocation joins the statistics of its row for itself, in the order of the shards, at the size of the largest.
//           Where the sum is in the ordinary range the row is scaled like any other, else like a rescued one.
//
// Numerics  What each addition rounds away is found exactly (Knuth's sum of two) and added at the end: the joint sum is all but
//           correctly rounded, however many shards there are.

// The scale of a row.
fn row_scale(slot: u32, invocation: u32, row: Row) -> Scale {
    var largest = -LARGEST_EXPONENT;
    var spoiled = 0.0;
    for (var shard = 0u; shard < SHARDS; shard++) {
        let sum = load_statistics_one(row.statistics + 2u * shard);
        let exponent = i32(load_statistics_one(row.statistics + 2u * shard + 1u));
        let bits = bitcast<u32>(sum) & 0x7fffffffu;
        if (bits >= 0x7f800000u) {
            // A NaN once it is one; else the infinity.
            spoiled += sum;
        } else if (bits != 0u) {
            largest = max(largest, exponent_of(vec4<f32>(sum)).x + 2 * exponent);
        }
    }
    if (spoiled != 0.0) {
        return rescued_scale(Statistic(spoiled, 0));
    }
    // Even, so that half of it is a whole number.
    let size = (largest + 1) >> 1u;
    var total = 0.0;
    var rounded_away = 0.0;
    for (var shard = 0u; shard < SHARDS; shard++) {
        let sum = load_statistics_one(row.statistics + 2u * shard);
        let exponent = i32(load_statistics_one(row.statistics + 2u * shard + 1u));
        let shift = exponent_of(vec4<f32>(sum)).x + 2 * (exponent - size);
        let term = scale_by(fraction_of(vec4<f32>(sum)), vec4<i32>(shift)).x;
        let next = opaque_one(total + term);
        let taken = opaque_one(next - total);
        rounded_away += (total - opaque_one(next - taken)) + opaque_one(term - taken);
        total = next;
    }
    total = opaque_one(total + rounded_away);
    // The sum of several may be a little larger than the largest of them.
    if (largest >= -64 && largest < select(120, 128, SHARDS == 1u)) {
        let mean = mean_of(scale_by(vec4<f32>(total), vec4<i32>(2 * size)).x, params.eps);
        if (!needs_rescue(1.0, mean.high)) {
            return ordinary_scale(inverse_root(mean));
        }
    }
    return rescued_scale(Statistic(total, size));
}
