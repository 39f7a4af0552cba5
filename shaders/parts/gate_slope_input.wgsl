// A gate multiplies the input: the gradient of their product goes to each, times the other.
fn input_gradient(grad: Octet, l: Loaded) -> Octet {
    return joined(input_gradient_split(split(grad), l));
}

fn input_gradient_split(grad: Split, l: Loaded) -> Split {
    let low = opening_apart(l.z[0]);
    let high = opening_apart(l.z[1]);
    return renewed(Split(
        grad.low * low.factor,
        grad.high * high.factor,
        grad.low_exponent + low.exponent,
        grad.high_exponent + high.exponent,
    ));
}

fn gate_gradient(grad: Octet, l: Loaded, stored: Octet, c: ChannelOctet) -> Octet {
    return gate_gradient_split(split(grad), l, stored, c);
}

fn gate_gradient_split(grad: Split, l: Loaded, stored: Octet, c: ChannelOctet) -> Octet {
    return joined(split_products(split_products(grad, split(l.x)), opening_slopes(l)));
}
