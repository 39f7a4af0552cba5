//! What was measured: a table for people, JSON for machines.

use serde_json::{Value, json};

use super::compare::Earlier;
use super::copies::Copies;
use super::measure::Timed;
use super::operation::{Dtypes, Operation};
use super::plot::Series;
use super::shape::Shape;
use super::shape::{CLIFF, GROWTH};
use super::verdict::{self, Point, Verdict};
use super::work::Work;
use crate::output::{BAD, GOOD, say};
use crate::table;

/// A norm and its copies.
pub struct Line {
    subject: Subject,
    /// Rung and workgroup, in words.
    plan: String,
    bytes: u64,
    copied: u64,
    copy: String,
    /// The largest distance of a result to float64.
    error: Option<f64>,
    timed: Timed,
}

/// What is timed, by name.
#[derive(Clone, Copy)]
pub struct Subject {
    pub operation: Operation,
    pub dtypes: Dtypes,
    pub shape: Shape,
    /// The set that it is from.
    pub set: Option<&'static str>,
}

impl Line {
    pub fn new(subject: Subject, work: &Work, error: Option<f64>, copies: &Copies, timed: Timed) -> Self {
        Self {
            subject,
            plan: work.plan_in_words(),
            bytes: work.bytes(),
            copied: copies.traffic(),
            copy: copies.best.name.clone(),
            error,
            timed,
        }
    }

    /// What tells lines apart: operation, dtype and shape.
    pub fn key(&self) -> [String; 3] {
        let Subject { operation, dtypes, shape, .. } = self.subject;
        [operation.name(), dtypes.name(), format!("{}x{}", shape[0], shape[1])]
    }

    /// Bytes a nanosecond, by the clock.
    fn speeds(&self) -> [f64; 3] {
        let timed = &self.timed;
        [speed(self.bytes, timed.norm), speed(self.copied, timed.copy), speed(self.copied, timed.plain_copy)]
    }

    /// The norm's GB/s over the fastest copy's.
    fn share(&self) -> f64 {
        let [norm, copy, _] = self.speeds();
        norm / copy
    }

    /// The norm's GB/s over those of the fastest copy by 32-bit words.
    fn share_of_words(&self) -> f64 {
        self.speeds()[0] / speed(self.copied, self.timed.copy_by_words.unwrap_or(self.timed.copy))
    }

    /// The series that it belongs to, in words.
    fn series(&self) -> String {
        format!("{} {}", self.subject.operation.name(), self.subject.dtypes.name())
    }

    /// What a verdict needs of it.
    fn point(&self) -> Point {
        Point {
            series: self.series(),
            halves: self.subject.dtypes.of_rows().size() == 2,
            shape: self.subject.shape,
            seconds: self.timed.norm,
            share: self.share(),
        }
    }

    /// First what is recorded of other libraries too, and counted alike: from the first command until the device is done, one
    /// norm in a submit (`median_s`, `gb_per_s`), and one of several (`batch_`). Then what the clock says of these several, and
    /// of the copies.
    pub fn json(&self, device: &str, clock: &str) -> Value {
        let [norm, copy, plain_copy] = self.speeds();
        let timed = &self.timed;
        let Subject { operation, dtypes, shape: [rows, hidden], .. } = self.subject;
        json!({
            "peer": "wgpu-rmsnorm", "version": env!("CARGO_PKG_VERSION"), "device": device, "dtype": dtypes.name(),
            "op": operation.name(), "rows": rows, "hidden": hidden,
            "median_s": timed.single, "gb_per_s": speed(self.bytes, timed.single), "max_abs_err": self.error,
            "batch_s": timed.batch, "batch_k": timed.repetitions, "batch_gb_per_s": speed(self.bytes, timed.batch),
            "bytes": self.bytes, "plan": self.plan, "clock": clock, "norm_s": timed.norm, "norm_gb_per_s": norm,
            "copy": self.copy, "copy_s": timed.copy, "copy_gb_per_s": copy, "plain_copy_gb_per_s": plain_copy,
            "share_of_copy": self.share(), "share_of_copy_by_words": self.share_of_words(),
        })
    }
}

fn speed(bytes: u64, seconds: f64) -> f64 {
    bytes as f64 / seconds * 1e-9
}

/// Prints the table; with an earlier report, what each share was, and what it is now over that.
pub fn print(lines: &[Line], earlier: Option<&Earlier>) {
    let mut headings = vec![
        "operation",
        "dtype",
        "shape",
        "rung: width x rows x turns",
        "fastest copy",
        "time",
        "GB/s",
        "copy GB/s",
        "share",
        "of 32-bit copy",
        "plain copy GB/s",
    ];
    if earlier.is_some() {
        headings.extend(["share before", "now / before"]);
    }
    let mut rows = table::new(&headings, 5);
    for line in lines {
        let [norm, copy, plain_copy] = line.speeds();
        let [operation, dtypes, shape] = line.key();
        let mut cells = vec![
            operation,
            dtypes,
            shape,
            line.plan.clone(),
            line.copy.clone(),
            table::time(line.timed.norm),
            format!("{norm:.2}"),
            format!("{copy:.2}"),
            format!("{:.2}", line.share()),
            format!("{:.2}", line.share_of_words()),
            format!("{plain_copy:.2}"),
        ];
        if let Some(earlier) = earlier {
            let before = earlier.share(line);
            let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
            cells.extend([number(before), number(before.map(|before| line.share() / before))]);
        }
        rows.add_row(cells);
    }
    table::print(&rows);
    let mean = lines.iter().map(|line| line.share().ln()).sum::<f64>() / lines.len().max(1) as f64;
    say!("\nGB/s: every operand once. Share: of the fastest copy; {:.2} by geometric mean.", mean.exp());
}

/// Prints what the sweeps among the lines found.
pub fn print_verdicts(lines: &[Line]) {
    let from = |set: &str| lines.iter().filter(|line| line.subject.set == Some(set)).map(Line::point).collect::<Vec<_>>();
    for Verdict { text, held } in [verdict::cliff(&from(CLIFF)), verdict::growth(&from(GROWTH))].concat() {
        let word = if held { format!("{GOOD}held{GOOD:#}") } else { format!("{BAD}not held{BAD:#}") };
        say!("{text}: {word}");
    }
}

/// The lines as they are drawn.
pub fn series(lines: &[Line]) -> Vec<Series> {
    let mut all: Vec<Series> = Vec::new();
    for line in lines {
        let (name, point) = (line.series(), (line.subject.shape[1], line.share()));
        match all.iter_mut().find(|(other, _)| *other == name) {
            Some((_, points)) => points.push(point),
            None => all.push((name, vec![point])),
        }
    }
    all
}
