// The gradients of weight and bias
//
// Formula   What all blocks of rows found for a channel (backward.wgsl), summed, on top of what is there where gradients accumulate:
//           in f32, rounded once.
//
// Bindings  0: params. 1..: the number of rows in base-256 digits, by dynamic offset. Then the gradients as 32-bit words. Last the
//           scratch buffer.
//
// Grid      An invocation for every octet of channels; those behind the last end at once.
//
// Numerics  The order is that of src/plan/blocks.rs: a tree over the blocks by their numbers, which continues the one over the rows
//           of a block; then one over the groups that share a value.

// The sum of a group's blocks.
fn group_sum(kind: u32, group: u32, o: u32, blocks: u32) -> Octet {
    for (var block = 0u; block < blocks; block++) {
        join_blocks_levels(block, scratch[scratch_at(block, group, kind, o)]);
    }
    return joined_blocks_levels(blocks);
}

// The sum of the groups that share the values of a weight.
fn weight_sum(kind: u32, which: u32, o: u32, blocks: u32) -> Octet {
    let first = first_group(which);
    let groups = first_group(which + 1u) - first;
    for (var group = 0u; group < groups; group++) {
        join_groups_levels(group, group_sum(kind, first + group, o, blocks));
    }
    return joined_groups_levels(groups);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let which = id.x / ROW_OCTETS;
    if (which >= WEIGHTS) {
        return;
    }
    let blocks = (row_count() / GROUPS + BLOCK_ROWS - 1u) / BLOCK_ROWS;
    let o = id.x % ROW_OCTETS;
    store_sums(which, o, blocks);
}
