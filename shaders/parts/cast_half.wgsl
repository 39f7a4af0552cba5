// The normalised value is rounded to DTYPE before the weight.
fn cast_normalized(n: Octet) -> Octet {
    return decode_DTYPE(encode_DTYPE(n));
}

fn cast_split(n: Split) -> Split {
    return split(cast_normalized(joined(n)));
}
