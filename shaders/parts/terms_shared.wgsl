// The rows of a block one after the other, each by all invocations of the team. (Where each has rows of its own: terms_alone.wgsl.)
fn find_terms(team: Team, lane: u32, most: u32, rows: u32) {
    for (var number = 0u; number < most; number++) {
        let row = team_row(team, number, select(0u, rows, number < team.rows));
        let scale = scale_of(team.slot, lane, row);
        let slope = row_slope(team.slot, lane, row, scale);
        if (lane == 0u) {
            scales[team.slot * BLOCK_ROWS + number] = scale;
            slopes[team.slot * BLOCK_ROWS + number] = slope;
        }
        release_lanes();
    }
}
