// All groups share one weight, and one bias.
fn weight_of_group(group: u32) -> u32 {
    return 0u;
}
