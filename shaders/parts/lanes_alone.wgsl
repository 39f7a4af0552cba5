// A row belongs to one invocation: no barrier, no workgroup memory, no vote. (Where several share it: lanes_shared.wgsl.) It adds all
// blocks of a lane before it goes on to the next.
fn lane_of(turn: u32, invocation: u32) -> u32 {
    return turn / BLOCKS;
}

fn block_of(turn: u32) -> u32 {
    return turn % BLOCKS;
}

fn join_maxima(slot: u32, invocation: u32, found: u32) -> u32 {
    return found;
}

fn any_rescue(slot: u32, invocation: u32, needed: bool) -> bool {
    return needed;
}
