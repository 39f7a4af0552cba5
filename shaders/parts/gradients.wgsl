// Factors and summands of an octet of channels, which all rows of a block share.
struct ChannelOctet {
    w: Octet,
    b: Octet,
}

// What is read of an octet of a row: the input, the gate, the gradient of the output, and that of the sum.
struct Loaded {
    x: Octet,
    z: Octet,
    d: Octet,
    s: Octet,
}

// What the slope of a row sums the products of, in fractions and exponents.
struct SplitTerm {
    weighted: Split,   // g
    normalized: Split, // x̂
}

// The gradients of an octet, and what its rows add to those of weight and bias.
struct Gradients {
    input: Octet,
    gate: Octet,
    weight: Octet, // of the weight, what the row adds to it: that of the norm's result times x̂ as the forward pass rounded it
    norm: Octet,   // of the norm's result, which the row adds to that of the bias
}

// g: the gradient of x̂.
fn weighted_gradient(l: Loaded, c: ChannelOctet) -> Octet {
    return cast_normalized(products_of(norm_gradient(l), c.w));
}

fn split_term(l: Loaded, c: ChannelOctet, scale: Scale) -> SplitTerm {
    let n = renewed(normalized_split(split_of(l.x, l.z), scale));
    return SplitTerm(cast_split(split_products(norm_gradient_split(l), split(c.w))), n);
}

// The same with fractions in [1, 2).
fn renewed(s: Split) -> Split {
    let fractions = split(Octet(s.low, s.high));
    return Split(
        fractions.low,
        fractions.high,
        fractions.low_exponent + s.low_exponent,
        fractions.high_exponent + s.high_exponent,
    );
}

// Octet o of any row.
fn gradients_of(o: u32, l: Loaded, c: ChannelOctet, scale: Scale, slope: Slope) -> Gradients {
    if (slope.rescued) {
        return rescued_gradients(o, l, c, scale, slope);
    }
    return ordinary_gradients(o, l, c, scale, slope);
}

// Octet o of an ordinary row. The mean of g · x̂ is of the elements that the scale is made of, and so is what it takes off.
fn ordinary_gradients(o: u32, l: Loaded, c: ChannelOctet, scale: Scale, slope: Slope) -> Gradients {
    let d = norm_gradient(l);
    let n = normalized(value_of(l.x, l.z), scale);
    let g = cast_normalized(products_of(d, c.w));
    let s = summed_part(n, o);
    let v = Octet(along_taken_off(g[0], s[0], slope), along_taken_off(g[1], s[1], slope));
    let grad = Octet(opaque(v[0] * scale.factor), opaque(v[1] * scale.factor));
    let stored = cast_normalized(n);
    let input = summed_with(input_gradient(grad, l), l.s);
    return Gradients(input, gate_gradient(grad, l, stored, c), products_of(d, stored), d);
}

fn along_taken_off(g: vec4<f32>, n: vec4<f32>, slope: Slope) -> vec4<f32> {
    return (g - vec4<f32>(slope.level)) - opaque(n * slope.along);
}

fn rescued_gradients(o: u32, l: Loaded, c: ChannelOctet, scale: Scale, slope: Slope) -> Gradients {
    let term = split_term(l, c, scale);
    let fractions = summed_part(Octet(term.normalized.low, term.normalized.high), o);
    let along = renewed(Split(
        fractions[0] * slope.along,
        fractions[1] * slope.along,
        term.normalized.low_exponent + vec4<i32>(slope.along_exponent),
        term.normalized.high_exponent + vec4<i32>(slope.along_exponent),
    ));
    let low = difference(term.weighted.low, term.weighted.low_exponent, along.low, along.low_exponent, slope);
    let high = difference(term.weighted.high, term.weighted.high_exponent, along.high, along.high_exponent, slope);
    let shift = vec4<i32>(scale.exponent);
    let grad = Split(
        low.fraction * scale.factor,
        high.fraction * scale.factor,
        low.exponent - shift,
        high.exponent - shift,
    );
    let stored = cast_split(term.normalized);
    let input = summed_with(joined(input_gradient_split(grad, l)), l.s);
    // Behind a gate, the gradient of the norm's result may be beyond f32 where its product with x̂ is not.
    let d = norm_gradient_split(l);
    return Gradients(input, gate_gradient_split(grad, l, stored, c), joined(split_products(d, stored)), joined(d));
}

struct Difference {
    fraction: vec4<f32>,
    exponent: vec4<i32>,
}

fn exponent_or_least(fraction: vec4<f32>, exponent: vec4<i32>) -> vec4<i32> {
    return select(exponent, vec4<i32>(-LARGEST_EXPONENT), fraction == vec4<f32>(0.0));
}

// g less what is along x̂, and the level, at the size of the largest of the three.
fn difference(g: vec4<f32>, g_exponent: vec4<i32>, a: vec4<f32>, a_exponent: vec4<i32>, slope: Slope) -> Difference {
    let level = vec4<f32>(slope.level);
    let level_exponent = vec4<i32>(slope.level_exponent);
    let largest = max(
        max(exponent_or_least(g, g_exponent), exponent_or_least(a, a_exponent)),
        exponent_or_least(level, level_exponent),
    );
    let v = (scale_by(g, g_exponent - largest) - scale_by(level, level_exponent - largest))
        - opaque(scale_by(a, a_exponent - largest));
    return Difference(opaque(v), largest);
}
