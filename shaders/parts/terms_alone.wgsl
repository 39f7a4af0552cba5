// Each invocation of the team has rows of its own: nothing is shared, and software pays for every barrier.
fn find_terms(team: Team, lane: u32, most: u32, rows: u32) {
    for (var number = lane; number < rolled(team.rows); number += TEAM) {
        let row = team_row(team, number, rows);
        let scale = scale_of(0u, 0u, row);
        scales[team.slot * BLOCK_ROWS + number] = scale;
        slopes[team.slot * BLOCK_ROWS + number] = row_slope(0u, 0u, row, scale);
    }
}
