// The rows of a workgroup go side by side, and then the next ones.
fn row_number(first: u32, slot: u32, turn: u32) -> u32 {
    return first + turn * ROWS_AT_ONCE + slot;
}

// What follows writes the workgroup memory that was read before.
fn release_lanes() {
    workgroupBarrier();
}
