// No gate: the gradient of what is normalised is that of the input.
fn input_gradient(grad: Octet, l: Loaded) -> Octet {
    return grad;
}

fn input_gradient_split(grad: Split, l: Loaded) -> Split {
    return grad;
}

fn gate_gradient(grad: Octet, l: Loaded, stored: Octet, c: ChannelOctet) -> Octet {
    return grad;
}

fn gate_gradient_split(grad: Split, l: Loaded, stored: Split, c: ChannelOctet) -> Octet {
    return joined(grad);
}
