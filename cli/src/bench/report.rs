//! What was measured: a table for people, JSON for machines.

use serde_json::{Value, json};

use super::compare::Earlier;
use super::copies::Copies;
use super::measure::Timed;
use super::shape::Shape;
use super::work::{Dtypes, Operation, Work};
use crate::output::say;
use crate::table;

/// A norm and its copies.
pub struct Line {
    operation: String,
    dtypes: String,
    shape: Shape,
    /// Rung and workgroup, in words.
    plan: String,
    bytes: u64,
    copied: u64,
    copy: String,
    timed: Timed,
}

impl Line {
    pub fn new(operation: Operation, dtypes: Dtypes, shape: Shape, work: &Work, copies: &Copies, timed: &Timed) -> Self {
        let plan = work.prepared.plan();
        Self {
            operation: operation.name(),
            dtypes: dtypes.name(),
            shape,
            plan: format!("{} {} x {} x {}", plan.rung.name(), plan.width, plan.rows_at_once, plan.rounds),
            bytes: work.bytes(),
            copied: copies.traffic(),
            copy: copies.best.name.clone(),
            timed: *timed,
        }
    }

    /// What tells lines apart: operation, dtype and shape.
    pub fn key(&self) -> [String; 3] {
        [self.operation.clone(), self.dtypes.clone(), format!("{}x{}", self.shape[0], self.shape[1])]
    }

    /// Bytes a nanosecond.
    fn speeds(&self) -> [f64; 3] {
        let speed = |bytes: u64, seconds: f64| bytes as f64 / seconds * 1e-9;
        let timed = &self.timed;
        [speed(self.bytes, timed.norm), speed(self.copied, timed.copy), speed(self.copied, timed.plain_copy)]
    }

    /// The norm's GB/s over the fastest copy's.
    fn share(&self) -> f64 {
        let [norm, copy, _] = self.speeds();
        norm / copy
    }

    /// The fields that the table of other libraries has too, and the copies.
    pub fn json(&self, device: &str) -> Value {
        let [norm, copy, plain_copy] = self.speeds();
        let timed = &self.timed;
        json!({
            "peer": "wgpu-rmsnorm", "version": env!("CARGO_PKG_VERSION"), "device": device, "dtype": self.dtypes,
            "op": self.operation, "rows": self.shape[0], "hidden": self.shape[1],
            "median_s": timed.single, "gb_per_s": norm, "batch_s": timed.norm, "batch_k": timed.repetitions,
            "bytes": self.bytes, "plan": self.plan, "share_of_copy": self.share(),
            "copy": self.copy, "copy_gb_per_s": copy, "copy_batch_s": timed.copy, "plain_copy_gb_per_s": plain_copy,
        })
    }
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
