// The rows of an invocation follow each other, so that it sees both that share a word.
fn row_number(first: u32, slot: u32, turn: u32) -> u32 {
    return first + slot * ROUNDS + turn;
}

// No memory is shared.
fn release_lanes() {
}
