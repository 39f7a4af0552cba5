// The result, rounded to the norm's own dtype, plus the residual, added in f32.
fn after(y: Octet, r: Octet) -> Octet {
    let n = cast_normed(y);
    // Opaque: the product that it may be must not be fused with the addition.
    return Octet(sum_of(opaque(n[0]), r[0]), sum_of(opaque(n[1]), r[1]));
}

fn residual_after(row: Row, i: u32) -> Octet {
    return load_residual(row.residual + i);
}
