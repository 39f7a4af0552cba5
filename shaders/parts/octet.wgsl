// Eight consecutive elements of a row: two quads, which belong to two neighbouring lanes. A matrix, for it adds by columns.
alias Octet = mat2x4<f32>;

fn squares_of(v: Octet) -> Octet {
    return Octet(opaque(v[0] * v[0]), opaque(v[1] * v[1]));
}

fn component_sum(v: vec4<f32>) -> f32 {
    return (v.x + v.y) + (v.z + v.w);
}

// The sums of the two lanes that an octet belongs to.
fn pair_of(sums: Octet) -> vec2<f32> {
    return vec2<f32>(component_sum(sums[0]), component_sum(sums[1]));
}
