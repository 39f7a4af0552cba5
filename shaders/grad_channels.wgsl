// The gradients of weight and bias
//
// Formula   What all blocks of rows found for a channel (backward.wgsl), summed, on top of what is there where gradients accumulate:
//           in f32, rounded once.
//
// Bindings  0: params. 1..: the number of rows in base-256 digits, by dynamic offset. Then the gradients as 32-bit words. Last the
//           scratch buffer.
//
// Grid      A workgroup for every octet of channels, LINE to a line; on the second axis all lines of the first kind of sum, then those of
//           the next.
//
// Work      For each of the groups that share a weight: every invocation sums a strand of blocks, as many as are a power of two; the
//           first one joins the strands, and then the groups.
//
// Numerics  The order is that of src/plan/blocks.rs: a tree over the blocks by their numbers, which continues the one over the rows
//           of a block; then one over the groups. Strands are nodes of the tree, so that their length has no say.

var<workgroup> strand_sums: array<Octet, WORKGROUP_SIZE>;

// The sum of the blocks first .. end of a group.
fn strand_sum(kind: u32, group: u32, o: u32, first: u32, end: u32) -> Octet {
    for (var block = first; block < end; block++) {
        join_blocks_levels(block - first, scratch[scratch_at(block, group, kind, o)]);
    }
    return joined_blocks_levels(end - first);
}

// The sum of the first `count` strands.
fn joined_strands(count: u32) -> Octet {
    for (var strand = 0u; strand < count; strand++) {
        join_strands_levels(strand, strand_sums[strand]);
    }
    return joined_strands_levels(count);
}

@compute @workgroup_size(WORKGROUP_SIZE)
fn main(@builtin(workgroup_id) id: vec3<u32>, @builtin(local_invocation_index) index: u32) {
    let lines = (WEIGHTS * ROW_OCTETS + LINE - 1u) / LINE;
    let octet = id.y % lines * LINE + id.x;
    // The last line may be longer than what is left.
    if (octet >= WEIGHTS * ROW_OCTETS) {
        return;
    }
    let which = octet / ROW_OCTETS;
    let o = octet % ROW_OCTETS;
    let kind = id.y / lines;
    let blocks = (row_count() / GROUPS + BLOCK_ROWS - 1u) / BLOCK_ROWS;
    var length = 1u;
    for (var covered = WORKGROUP_SIZE; covered < blocks; covered *= 2u) {
        length *= 2u;
    }
    let first = min(index * length, blocks);
    let end = min(first + length, blocks);
    let first_of_groups = first_group(which);
    let groups = first_group(which + 1u) - first_of_groups;
    for (var group = 0u; group < groups; group++) {
        strand_sums[index] = strand_sum(kind, first_of_groups + group, o, first, end);
        workgroupBarrier();
        if (index == 0u) {
            join_groups_levels(group, joined_strands((blocks + length - 1u) / length));
        }
        workgroupBarrier();
    }
    if (index == 0u) {
        store_sum(which, o, kind, joined_groups_levels(groups));
    }
}
