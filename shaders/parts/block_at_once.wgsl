// A block whose rows are one batch, strip after strip. (Row after row: block_by_rows.wgsl.) Software drivers keep nothing in registers from
// one turn of a loop to the next where there is a barrier in it: here is none.
fn block_gradients(team: Team, lane: u32, most: u32, rows: u32) {
    find_terms(team, lane, 0u, most, rows);
    workgroupBarrier();
    let is_rare = is_rescued(team, 0u, team.rows);
    for (var strip = 0u; strip < rolled(STRIPS); strip++) {
        let o = strip * STRIP * TEAM + lane;
        begin_strip(team_row(team, 0u, rows), o);
        strip_gradients(team, o, 0u, team.rows, rows, is_rare);
        keep_strip(team, o);
    }
}
