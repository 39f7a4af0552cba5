// Compilers may unroll loops.
fn rolled(count: u32) -> u32 {
    return count;
}
