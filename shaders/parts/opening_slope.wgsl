// The derivatives of what gates open to, as factors and exponents, and the sigmoid as a number. Beyond 720 a sigmoid is 0 or 1.
fn sigmoid_of(z: vec4<f32>) -> vec4<f32> {
    let s = sigmoid_times(vec4<f32>(1.0), z);
    return scale_by(s.factor, s.exponent);
}

fn opening_slopes(l: Loaded) -> Split {
    let low = opening_slope(l.z[0]);
    let high = opening_slope(l.z[1]);
    return renewed(Split(low.factor, high.factor, low.exponent, high.exponent));
}

// Numbers, taken apart, times what the gate opens to, in fractions and exponents, which f32 need not hold.
fn times_opening(s: Split, l: Loaded) -> Split {
    let low = opening_apart(l.z[0]);
    let high = opening_apart(l.z[1]);
    return renewed(Split(
        s.low * low.factor,
        s.high * high.factor,
        s.low_exponent + low.exponent,
        s.high_exponent + high.exponent,
    ));
}
