// The pieces of a row that several workgroups share
//
// Formula   for every piece of every row, and every lane: the sum of the squares of the piece's elements, a node of the tree that
//           joins the blocks of the lane (src/plan/order.rs).
//
// Bindings and grid are those of the kernel that follows, which joins these sums (parts/plain_sum_pieces.wgsl) and writes the rows.
@compute @workgroup_size(WORKGROUP_SIZE)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) grid: vec3<u32>,
    @builtin(local_invocation_index) invocation: u32,
) {
    let index = group.y * grid.x + group.x;
    let rows = row_count();
    if (index / PIECES >= rows) {
        return;
    }
    let row = row_at(index / PIECES, rows);
    let first = index % PIECES * PIECE_BLOCKS;
    let end = min(first + PIECE_BLOCKS, BLOCKS);
    for (var lane = invocation; lane < OCTET_LANES; lane += WIDTH) {
        for (var block = first; block < end; block++) {
            join_part_levels(block - first, block_of_squares(row, lane, block));
        }
        var sum = joined_part_levels();
        if (end - first < PIECE_BLOCKS) {
            sum = joined_rest_levels();
        }
        scratch[index * OCTET_LANES + lane] = sum;
    }
}
