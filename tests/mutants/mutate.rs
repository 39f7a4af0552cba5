//! The mutants of a function of WGSL: one token changed, or one statement left out.

use std::collections::HashSet;
use std::fmt;

/// One change of a function.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Mutant {
    /// The function's name.
    pub function: String,
    /// The function as it is, from `fn` to its last brace.
    pub from: String,
    /// The function with the change.
    pub to: String,
    /// The changed line, and what it becomes.
    pub line: [String; 2],
}

/// `function: line => changed line`: by this a list of mutants names them.
impl fmt::Display for Mutant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} => {}", self.function, self.line[0], self.line[1])
    }
}

/// The functions of a module, without the comments before them.
pub fn functions(wgsl: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = wgsl;
    while let Some(start) = rest.find("\nfn ") {
        let from_here = &rest[start + 1..];
        let Some(end) = from_here.find("\n}") else { break };
        found.push(&from_here[..end + 2]);
        rest = &from_here[end..];
    }
    found
}

/// The name of a function.
pub fn name(function: &str) -> &str {
    function.trim_start_matches("fn ").split('(').next().unwrap_or_default()
}

/// All mutants of a function.
pub fn mutants(function: &str) -> Vec<Mutant> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    let mut at = 0;
    // The signature stays: a change in it does not compile, or says the same.
    for (number, line) in function.split_inclusive('\n').enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        if number > 0 && !code.trim().is_empty() {
            for changed in changes(code) {
                let to = format!("{}{changed}{}", &function[..at], &function[at + code.len()..]);
                if seen.insert(to.clone()) {
                    let line = [code.trim().to_owned(), changed.trim().to_owned()];
                    found.push(Mutant { function: name(function).to_owned(), from: function.to_owned(), to, line });
                }
            }
        }
        at += line.len();
    }
    found
}

/// What is swapped for what: between spaces, as operators of two operands are written.
const OPERATORS: [(&str, &str); 24] = [
    ("+", "-"),
    ("-", "+"),
    ("*", "+"),
    ("/", "*"),
    ("%", "/"),
    ("<", "<="),
    ("<", ">="),
    ("<=", "<"),
    (">", ">="),
    (">", "<="),
    (">=", ">"),
    ("==", "!="),
    ("!=", "=="),
    ("&&", "||"),
    ("||", "&&"),
    ("<<", ">>"),
    (">>", "<<"),
    ("&", "|"),
    ("|", "&"),
    ("^", "&"),
    ("+=", "-="),
    ("-=", "+="),
    ("*=", "+="),
    ("|=", "&="),
];

/// Words that change places with another.
const WORDS: [(&str, &str); 8] = [
    ("min(", "max("),
    ("max(", "min("),
    ("true", "false"),
    ("false", "true"),
    ("floor(", "ceil("),
    ("atomicOr(", "atomicAnd("),
    ("atomicAnd(", "atomicOr("),
    ("abs(", "("),
];

/// All changes of one line.
fn changes(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut swap = |at: usize, length: usize, by: &str| found.push(format!("{}{by}{}", &line[..at], &line[at + length..]));
    for (operator, other) in OPERATORS {
        for (at, _) in line.match_indices(&format!(" {operator} ")) {
            swap(at + 1, operator.len(), other);
        }
    }
    for (word, other) in WORDS {
        for (at, _) in line.match_indices(word).filter(|(at, _)| !follows_a_name(line, *at)) {
            swap(at, word.len(), other);
        }
    }
    for (at, number) in numbers(line) {
        for by in other_numbers(number) {
            swap(at, number.len(), &by);
        }
    }
    // A sign.
    for (at, _) in line.match_indices('-') {
        let alone = line[..at].ends_with(['(', ' ']) && line[at + 1..].starts_with(|c: char| c.is_alphanumeric() || c == '(');
        if alone {
            swap(at, 1, "");
        }
    }
    if let Some(start) = line.find("if (") {
        let condition = start + "if (".len();
        if let Some(end) = line.rfind(") {") {
            swap(condition, end - condition, "true");
            swap(condition, end - condition, "false");
        }
    }
    let statement = line.trim();
    if statement.ends_with(';') && !["let ", "var ", "const ", "return ", "}"].iter().any(|start| statement.starts_with(start)) {
        let indent = line.len() - line.trim_start().len();
        swap(indent, statement.len(), "");
    }
    found
}

/// Whether the text at `at` is the rest of a longer name.
fn follows_a_name(line: &str, at: usize) -> bool {
    line[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// The numbers of a line and where they stand. Those in the names of types and variables are none.
fn numbers(line: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = line[at..].find(|c: char| c.is_ascii_digit()).map(|offset| at + offset) {
        let length = line[start..].find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(line.len() - start);
        if !follows_a_name(line, start) {
            found.push((start, &line[start..start + length]));
        }
        at = start + length;
    }
    found
}

/// The neighbours of an integer; half and twice a float, and one for zero.
fn other_numbers(number: &str) -> Vec<String> {
    let suffix = if number.ends_with('u') { "u" } else { "" };
    let digits = number.trim_end_matches('u');
    if let Some(hex) = digits.strip_prefix("0x") {
        let value = u32::from_str_radix(hex, 16).unwrap_or(0);
        return vec![format!("0x{:x}{suffix}", value.wrapping_add(1)), format!("0x{:x}{suffix}", value.wrapping_sub(1))];
    }
    if let Ok(value) = digits.parse::<u32>() {
        let below = value.checked_sub(1).map(|below| format!("{below}{suffix}"));
        return std::iter::once(format!("{}{suffix}", value.wrapping_add(1))).chain(below).collect();
    }
    match digits.trim_end_matches('f').parse::<f64>() {
        Ok(0.0) => vec!["1.0".to_owned()],
        Ok(value) => vec![format!("{:?}", value * 2.0), format!("{:?}", value * 0.5)],
        Err(_) => Vec::new(),
    }
}
