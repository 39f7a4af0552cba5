// OPERAND in DTYPE, two elements a word, octets from even elements.
fn load_OPERAND(e: u32) -> Octet {
    return decode_DTYPE(BUFFER_four(e / 2u));
}
