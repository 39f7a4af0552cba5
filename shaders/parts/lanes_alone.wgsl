// A row belongs to one invocation: no barrier, no workgroup memory, no vote. (Where several share it: lanes_shared.wgsl.) It takes
// block after block, of each all lanes: so a row is read from its start to its end.
fn lane_of(turn: u32, invocation: u32) -> u32 {
    return turn % OCTET_LANES;
}

fn block_of(turn: u32) -> u32 {
    return turn / OCTET_LANES;
}

fn join_maxima(slot: u32, invocation: u32, found: u32) -> u32 {
    return found;
}

fn any_rescue(slot: u32, invocation: u32, needed: bool) -> bool {
    return needed;
}
