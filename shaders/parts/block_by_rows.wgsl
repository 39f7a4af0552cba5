// A block whose rows are one strip each, row after row: what was read for a row's scale and slope is still near when its gradients are
// found, so that it is read from memory once. (All rows of the block at once: block_at_once.wgsl.)
fn block_gradients(team: Team, lane: u32, most: u32, rows: u32) {
    begin_strip(team_row(team, 0u, rows), lane);
    for (var number = 0u; number < most; number++) {
        find_terms(team, lane, number, number + 1u, rows);
        workgroupBarrier();
        let end = min(number + 1u, team.rows);
        strip_gradients(team, lane, number, end, rows, is_rescued(team, number, end));
        workgroupBarrier();
    }
    keep_strip(team, lane);
}
