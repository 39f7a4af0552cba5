// Nothing follows.
fn after(y: Octet, n: Octet, w: Octet, b: Octet, q: Octet, scale: Scale) -> Octet {
    return quantized(y, scale);
}

fn after_rescued(y: Octet, product: Split, b: Octet, q: Octet, scale: Scale) -> Octet {
    let none = Octet(vec4<f32>(0.0), vec4<f32>(0.0));
    return after(y, none, none, none, q, scale);
}
