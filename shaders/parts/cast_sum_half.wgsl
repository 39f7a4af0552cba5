// The sum is normalised as it is written back, in DTYPE.
fn cast_sum(sum: Octet) -> Octet {
    return decode_DTYPE(encode_DTYPE(sum));
}
