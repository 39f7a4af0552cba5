// SiLU: silu(z) = z / (1 + exp(-z)).
fn opening(z: vec4<f32>) -> Opening {
    return sigmoid_times(z, z);
}

// The same of any z, with a factor in [-1, 2).
fn opening_apart(z: vec4<f32>) -> Opening {
    let s = sigmoid_times(fraction_of(z), z);
    return Opening(s.factor, s.exponent + exponent_of(z));
}
