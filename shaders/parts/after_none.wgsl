// Nothing is added to the result.
fn after(y: Octet, r: Octet) -> Octet {
    return y;
}

fn residual_after(row: Row, i: u32) -> Octet {
    return Octet(vec4<f32>(0.0), vec4<f32>(0.0));
}
