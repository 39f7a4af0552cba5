// The OPERAND goes on as it is where it is stored, in DTYPE.
fn cast_OPERAND(v: Octet) -> Octet {
    return decode_DTYPE(encode_DTYPE(v));
}
