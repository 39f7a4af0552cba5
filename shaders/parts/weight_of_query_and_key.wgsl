// The first QUERY_HEADS groups share one weight, the others the next.
fn weight_of_group(group: u32) -> u32 {
    return select(HIDDEN, 0u, group < QUERY_HEADS);
}
