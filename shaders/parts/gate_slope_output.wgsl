// A gate multiplies the norm's result: its gradient is that of the output times the result, as the forward pass rounded it.
fn input_gradient(grad: Octet, l: Loaded) -> Octet {
    return grad;
}

fn input_gradient_split(grad: Split, l: Loaded) -> Split {
    return grad;
}

fn gate_gradient(grad: Octet, l: Loaded, stored: Octet, c: ChannelOctet) -> Octet {
    let product = products_of(stored, c.w);
    let result = cast_normed(Octet(product[0] + c.b[0], product[1] + c.b[1]));
    return joined(split_products(split_products(split(l.d), split(result)), opening_slopes(l)));
}

fn gate_gradient_split(grad: Split, l: Loaded, stored: Octet, c: ChannelOctet) -> Octet {
    return gate_gradient(l.d, l, stored, c);
}
