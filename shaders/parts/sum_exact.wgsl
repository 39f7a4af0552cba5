// a + b in f32, rounded once, whatever the driver does with subnormal numbers: where both are below 2^-60 and one below 2^-102, they
// are added at 2^64 times their size, which is exact wherever the sum would be subnormal, and the bits are put back by integers.
fn is_tiny(v: vec4<f32>) -> vec4<bool> {
    return magnitude_bits(v) - vec4<u32>(1u) < vec4<u32>(0x0c7fffffu);
}

fn is_small(v: vec4<f32>) -> vec4<bool> {
    return magnitude_bits(v) < vec4<u32>(0x21800000u);
}

fn lifted(v: vec4<f32>) -> vec4<f32> {
    return scale_by(fraction_of(v), exponent_of(v) + vec4<i32>(64));
}

fn sum_exact(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    let plain = opaque(a + b);
    let rare = (is_tiny(a) | is_tiny(b)) & is_small(a) & is_small(b);
    if (!any(rare)) {
        return plain;
    }
    let sum = opaque(lifted(a) + lifted(b));
    let bits = bitcast<vec4<u32>>(sum);
    let magnitude = magnitude_bits(sum);
    // A sum of 2^-62 and more is normal at its own size, 64 binades down; a smaller one is a number of steps of 2^-149.
    let steps = vec4<u32>(abs(sum) * vec4<f32>(0x1p85f));
    let lowered = select(steps, magnitude - vec4<u32>(0x20000000u), magnitude >= vec4<u32>(0x20800000u));
    return select(plain, bitcast<vec4<f32>>((bits & vec4<u32>(0x80000000u)) | lowered), rare);
}
