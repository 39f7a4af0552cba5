// What a gate multiplies by, as a factor and an exponent, so that it is not flushed where it is small: a numerator times
// 1 / (1 + exp(-z)). exp is our own, for WGSL's may be 3 + 2|z| ULP off: z = -|z| is cut at multiples of ln 2, and the rest goes
// through a polynomial (that of Cephes' expf, whose error is below 2e-7 of the result).
struct Opening {
    factor: vec4<f32>,
    exponent: vec4<i32>,
}

fn sigmoid_times(numerator: vec4<f32>, z: vec4<f32>) -> Opening {
    let magnitude = min(abs(z), vec4<f32>(720.0));
    let steps = floor(magnitude * vec4<f32>(1.44269504) + vec4<f32>(0.5));
    let r = opaque(steps * vec4<f32>(-0.000212194440)) + (opaque(steps * vec4<f32>(0.693359375)) - magnitude);
    var p = vec4<f32>(0.00019875691500);
    p = opaque(p * r) + vec4<f32>(0.0013981999507);
    p = opaque(p * r) + vec4<f32>(0.0083334519073);
    p = opaque(p * r) + vec4<f32>(0.041665795894);
    p = opaque(p * r) + vec4<f32>(0.16666665459);
    p = opaque(p * r) + vec4<f32>(0.50000001201);
    p = (opaque(p * opaque(r * r)) + r) + vec4<f32>(1.0);
    let exponent = -vec4<i32>(steps);
    // exp(-|z|); below 2^-60 it is nothing beside 1.
    let e = opaque(p * power_of_two(max(exponent, vec4<i32>(-60))));
    let negative = z < vec4<f32>(0.0);
    let quotient = (numerator * select(vec4<f32>(1.0), p, negative)) / (vec4<f32>(1.0) + e);
    // A minimum may pass over a NaN.
    let factor = select(quotient, z, magnitude_bits(z) > vec4<u32>(0x7f800000u));
    // A gate below -700 is shut; an infinite numerator gives a NaN there, as the formula does.
    let spoiled = magnitude_bits(numerator) >= vec4<u32>(0x7f800000u);
    let closed = bitcast<vec4<f32>>(select(vec4<u32>(0u), vec4<u32>(0x7fc00000u | params.zero), spoiled));
    let shut = z < vec4<f32>(-700.0);
    return Opening(opaque(select(factor, closed, shut)), select(vec4<i32>(0), exponent, negative));
}
