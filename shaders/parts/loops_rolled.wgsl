// Loops stay loops: software drivers unroll what they can count, and what does not fit the cache for instructions takes twice the
// time. A count that only the host knows keeps them from it.
fn rolled(count: u32) -> u32 {
    return count | params.zero;
}
