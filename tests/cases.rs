//! `tests/CASES.md` maps every failure that was seen elsewhere to what would notice it here: what it names exists.

use std::collections::BTreeMap;
use std::path::Path;

use wgpu_rmsnorm::verify::{HIDDEN, MORE_HIDDEN, Tier, cases};

const TABLE: &str = include_str!("CASES.md");

/// How many failures of each subject, by its letter, there are.
const KNOWN: [(char, usize); 17] = [
    ('A', 6),
    ('B', 7),
    ('C', 7),
    ('D', 6),
    ('E', 7),
    ('F', 5),
    ('G', 7),
    ('H', 5),
    ('I', 7),
    ('J', 4),
    ('K', 8),
    ('L', 8),
    ('M', 6),
    ('N', 6),
    ('O', 8),
    ('P', 4),
    ('Q', 5),
];

/// The rows of the table: the failure's ID, and what holds it.
fn rows() -> Vec<(&'static str, &'static str)> {
    let cells = |line: &'static str| line.trim_matches('|').split(" | ").map(str::trim).collect::<Vec<_>>();
    let is_row = |line: &&str| line.starts_with("| ") && !line.starts_with("| ID") && !line.starts_with("| ---");
    TABLE.lines().filter(is_row).map(cells).map(|cells| (cells[0], *cells.last().unwrap())).collect()
}

/// The texts in backticks behind this word.
fn named(holds: &'static str, word: &'static str) -> Vec<&'static str> {
    let start = format!("{word} `");
    holds.split(&start).skip(1).filter_map(|rest| rest.split('`').next()).collect()
}

#[test]
fn every_failure_is_accounted_for_once() {
    let mut found: BTreeMap<char, Vec<&str>> = BTreeMap::new();
    for (id, holds) in rows() {
        let held = ["case `", "test `", "review: "].iter().any(|word| holds.contains(word));
        assert!(held, "{id} is held by nothing: {holds}");
        let of_letter = found.entry(id.chars().next().unwrap()).or_default();
        assert!(!of_letter.contains(&id), "{id} is there twice");
        of_letter.push(id);
    }
    let counts: Vec<_> = found.iter().map(|(letter, ids)| (*letter, ids.len())).collect();
    assert_eq!(counts, KNOWN);
}

#[test]
fn every_case_that_is_named_is_in_the_list() {
    let list = cases(Tier::Full);
    let mut checked = 0;
    for (id, holds) in rows() {
        for text in named(holds, "case") {
            let in_list = list.iter().any(|case| case.kind.contains(text) || case.name.contains(text));
            assert!(in_list, "{id}: no case has {text:?} in its kind or name");
            checked += 1;
        }
    }
    assert!(checked > 40, "{checked} cases");
}

#[test]
fn every_test_that_is_named_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut checked = 0;
    for (id, holds) in rows() {
        for test in named(holds, "test") {
            let (file, function) = test.split_once("::").unwrap();
            let text = std::fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{id}: {file}: {error}"));
            assert!(text.contains(&format!("fn {function}(")), "{id}: {file} has no {function}");
            checked += 1;
        }
    }
    assert!(checked > 60, "{checked} tests");
}

#[test]
fn j6_the_lengths_of_the_field_are_in_the_list() {
    for hidden in [1, 2, 3, 5, 7, 17, 33, 63, 65, 127, 129, 255, 257, 769, 1023, 1025, 3584, 5120] {
        assert!(HIDDEN.contains(&hidden) || MORE_HIDDEN.contains(&hidden), "{hidden}");
        assert!(cases(Tier::Full).iter().any(|case| case.spec.hidden == hidden), "{hidden}");
    }
}
