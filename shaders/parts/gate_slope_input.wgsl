// A gate multiplies the input: the gradient of their product goes to each, times the other.
fn input_gradient(grad: Octet, l: Loaded) -> Octet {
    return joined(input_gradient_split(split(grad), l));
}

fn input_gradient_split(grad: Split, l: Loaded) -> Split {
    return times_opening(grad, l);
}

fn gate_gradient(grad: Octet, l: Loaded, stored: Octet, c: ChannelOctet) -> Octet {
    return gate_gradient_split(split(grad), l, split(stored), c);
}

fn gate_gradient_split(grad: Split, l: Loaded, stored: Split, c: ChannelOctet) -> Octet {
    return joined(split_products(split_products(grad, split(l.x)), opening_slopes(l)));
}
