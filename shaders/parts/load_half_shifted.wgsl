// OPERAND in DTYPE, four elements in each 64-bit word, octets from any element: of three words, the third of which may be the second.
fn load_OPERAND(e: u32) -> Octet {
    let i = e / 4u;
    let shift = (e & 3u) * 16u;
    let y = BUFFER[i + 1u];
    let low = shifted_OPERAND(BUFFER[i], y, shift);
    let high = shifted_OPERAND(y, BUFFER[(e + 7u) / 4u], shift);
    return decode_DTYPE(vec4<u32>(low, high));
}

// 64 of 128 bits, from `shift` on. (A shift by 64 would be none.)
fn shifted_OPERAND(low: u64, high: u64, shift: u32) -> vec2<u32> {
    let bits = (low >> shift) | ((high << 1u) << (63u - shift));
    return vec2<u32>(u32(bits), u32(bits >> 32u));
}
