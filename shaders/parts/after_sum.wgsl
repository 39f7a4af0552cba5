// The result, rounded to the norm's own dtype, plus the residual, added in f32.
fn after(y: Octet, r: Octet) -> Octet {
    let n = cast_normed(y);
    return Octet(sum_of(n[0], r[0]), sum_of(n[1], r[1]));
}
