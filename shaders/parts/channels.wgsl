// The factor of channels i .. i + 8 of a row: weight plus offset, in f32.
fn weight_at(row: Row, i: u32) -> Octet {
    let w = load_weight(params.weight_start + row.weight + i);
    return Octet(offset_weight(w[0]), offset_weight(w[1]));
}

fn bias_at(row: Row, i: u32) -> Octet {
    return load_bias(params.bias_start + row.weight + i);
}
