// Weight and bias have a value for every channel of the row.
fn weight_of_group(group: u32) -> u32 {
    return group * HIDDEN;
}
