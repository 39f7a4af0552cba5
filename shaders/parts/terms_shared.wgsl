// The rows of a batch one after the other, each by all invocations of the team. (Where each has rows of its own: terms_alone.wgsl.)
fn find_terms(team: Team, lane: u32, first: u32, end: u32, rows: u32) {
    for (var number = first; number < end; number++) {
        let row = team_row(team, number, select(0u, rows, number < team.rows));
        let terms = terms_of(team.slot, lane, row);
        if (lane == 0u) {
            scales[term_of(team, number)] = terms.scale;
            slopes[term_of(team, number)] = terms.slope;
        }
        release_lanes();
    }
}
