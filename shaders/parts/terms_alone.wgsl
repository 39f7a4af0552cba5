// Each invocation of the team has rows of its own: nothing is shared, and software pays for every barrier.
fn find_terms(team: Team, lane: u32, first: u32, end: u32, rows: u32) {
    for (var number = first + lane; number < rolled(min(end, team.rows)); number += TEAM) {
        let row = team_row(team, number, rows);
        let terms = terms_of(0u, 0u, row);
        scales[term_of(team, number)] = terms.scale;
        slopes[term_of(team, number)] = terms.slope;
    }
}
