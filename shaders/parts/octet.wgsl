// Eight consecutive elements of a row: two quads, which belong to two neighbouring lanes. A matrix, for it adds by columns.
alias Octet = mat2x4<f32>;

fn squares_of(v: Octet) -> Octet {
    return Octet(opaque(v[0] * v[0]), opaque(v[1] * v[1]));
}
