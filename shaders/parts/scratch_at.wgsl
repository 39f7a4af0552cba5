// Where the sum of a kind (weight, bias) that a block of a group leaves for an octet of channels lies.
fn scratch_at(block: u32, group: u32, kind: u32, o: u32) -> u32 {
    return ((block * GROUPS + group) * SUMS + kind) * ROW_OCTETS + o;
}
