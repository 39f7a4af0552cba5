// The result, rounded to the norm's own dtype, plus the residual, added in f32.
fn after(y: Octet, n: Octet, w: Octet, b: Octet, q: Octet, scale: Scale) -> Octet {
    let v = cast_normed(y);
    // Opaque: the product that it may be must not be fused with the addition.
    return Octet(sum_of(opaque(v[0]), q[0]), sum_of(opaque(v[1]), q[1]));
}
