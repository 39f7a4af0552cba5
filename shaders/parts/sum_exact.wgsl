// a + b in f32, rounded once, whatever the driver does with subnormal numbers. Where both are below 2^-60 and one is below
// 2^-102, they are added at 2^64 times their size, which is exact wherever the sum would be subnormal; integers take the sum
// back.
fn lifted(v: vec4<f32>) -> vec4<f32> {
    let magnitude = magnitude_bits(v);
    let normal = bitcast<vec4<f32>>(magnitude + vec4<u32>(0x20000000u));
    let subnormal = vec4<f32>(magnitude) * vec4<f32>(0x1p-85f);
    let lifted = bitcast<vec4<u32>>(select(normal, subnormal, magnitude < vec4<u32>(0x800000u)));
    return bitcast<vec4<f32>>(lifted | (bitcast<vec4<u32>>(v) & vec4<u32>(0x80000000u)));
}

fn sum_of(a: vec4<f32>, b: vec4<f32>) -> vec4<f32> {
    let plain = opaque(a + b);
    let smaller = min(magnitude_bits(a) - vec4<u32>(1u), magnitude_bits(b) - vec4<u32>(1u));
    let larger = max(magnitude_bits(a), magnitude_bits(b));
    // A zero, less one, is the largest of all.
    let rare = (smaller < vec4<u32>(0x0c7fffffu)) & (larger < vec4<u32>(0x21800000u));
    if (!any(rare)) {
        return plain;
    }
    let sum = opaque(lifted(a) + lifted(b));
    let magnitude = magnitude_bits(sum);
    // From 2^-62 up the sum is normal at its own size; below it is a number of steps of 2^-149.
    let steps = vec4<u32>(abs(sum) * vec4<f32>(0x1p85f));
    let lowered = select(steps, magnitude - vec4<u32>(0x20000000u), magnitude >= vec4<u32>(0x20800000u));
    let sign = bitcast<vec4<u32>>(sum) & vec4<u32>(0x80000000u);
    return select(plain, bitcast<vec4<f32>>(lowered | sign), rare);
}
