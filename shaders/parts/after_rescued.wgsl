// What follows the result of a rescued row takes it as it is in f32.
fn after_rescued(y: Octet, product: Split, b: Octet, q: Octet, scale: Scale) -> Octet {
    let none = Octet(vec4<f32>(0.0), vec4<f32>(0.0));
    return after(y, none, none, none, q, scale);
}
