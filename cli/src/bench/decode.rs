//! A decode step: the norms of one token, each on buffers of its own, in one submit; beside as many dispatches that do nothing, and
//! as many copies of the row.

use std::time::Instant;

use serde_json::{Value, json};
use wgpu_rmsnorm::wgpu::{self, ComputePass};
use wgpu_rmsnorm::{Force, Gpu};

use super::clock::{Clock, median};
use super::copies::{Copies, Copy};
use super::empty::Empty;
use super::operation::{Dtypes, Operation};
use super::work::Work;
use crate::failure::Failure;
use crate::output::{BAD, GOOD, say};
use crate::table;

/// Two norms a layer of a LLaMA of 32, and one at the end.
pub const NORMS: usize = 65;
const HIDDEN: u64 = 4096;
/// Submits of each way.
const SUBMITS: [f64; 2] = [5.0, 1001.0];
/// The most that a norm may take, over what a copy of its row takes.
const LIMIT: f64 = 1.5;

/// Seconds of a submit, by what is done in them.
#[derive(Debug, Clone, Copy)]
struct Parts {
    /// The CPU records.
    record: f64,
    /// The CPU submits.
    submit: f64,
    /// The CPU waits until the device is done.
    wait: f64,
}

impl Parts {
    fn whole(self) -> f64 {
        self.record + self.submit + self.wait
    }
}

/// What a step takes: of norms, of dispatches that do nothing, and of copies.
pub struct Step {
    operation: String,
    dtypes: String,
    bytes: u64,
    plan: String,
    copy: String,
    error: Option<f64>,
    norms: Parts,
    nothing: Parts,
    copies: Parts,
}

impl Step {
    /// Makes everything that a step has, checks it, and times the three ways in turns.
    pub fn measure(
        gpu: &Gpu,
        operation: Operation,
        dtypes: Dtypes,
        force: Force,
        clock: &mut Clock,
        budget: f64,
    ) -> Result<Self, Failure> {
        let new = |_| Ok(Work::new(gpu, operation.spec(HIDDEN, dtypes), [1, HIDDEN], force)?);
        let works = (0..NORMS).map(new).collect::<Result<Vec<Work>, Failure>>()?;
        let errors = works.iter().map(|work| work.check(gpu)).collect::<Result<Vec<_>, _>>()?;
        let empty = Empty::new(gpu, &works);
        let fastest = Copies::new(gpu, HIDDEN * dtypes.of_rows().size(), clock)?;
        let copies: Vec<Copy> = (0..NORMS).map(|_| fastest.best_elsewhere(gpu)).collect();

        let norms = || submit(gpu, |pass| Ok(works.iter().try_for_each(|work| work.prepared.record(pass, 1))?));
        let nothing = || {
            submit(gpu, |pass| {
                empty.record(pass);
                Ok(())
            })
        };
        let rows = || {
            submit(gpu, |pass| {
                copies.iter().for_each(|copy| copy.record_in(pass));
                Ok(())
            })
        };
        // The first of each finds nothing warm.
        let once = norms()?.whole() + nothing()?.whole() + rows()?.whole();
        let turns = (budget / once).clamp(SUBMITS[0], SUBMITS[1]) as usize;
        let mut all = [const { Vec::new() }; 3];
        for _ in 0..turns {
            all[0].push(norms()?);
            all[1].push(nothing()?);
            all[2].push(rows()?);
        }
        let [norms, nothing, copies] = all.map(|parts| medians(&parts));
        let first = &works[0];
        Ok(Self {
            operation: operation.name(),
            dtypes: dtypes.name(),
            bytes: first.bytes(),
            plan: first.plan_in_words(),
            copy: fastest.best.name.clone(),
            error: errors.into_iter().flatten().reduce(f64::max),
            norms,
            nothing,
            copies,
        })
    }

    /// What a norm takes over what a copy of its row takes.
    fn over_copy(&self) -> f64 {
        self.norms.whole() / self.copies.whole()
    }

    /// The part of the time that dispatches of nothing take too: wgpu's and the driver's.
    fn own_share(&self) -> f64 {
        self.nothing.whole() / self.norms.whole()
    }

    /// The fields that lines of `bench` have, and what each part of the step takes.
    pub fn json(&self, device: &str) -> Value {
        let each = |seconds: f64| seconds / NORMS as f64;
        let parts = |parts: Parts| json!({"record_s": each(parts.record), "submit_s": each(parts.submit), "wait_s": each(parts.wait), "whole_s": each(parts.whole())});
        let batch = each(self.norms.whole());
        json!({
            "peer": "wgpu-rmsnorm", "version": env!("CARGO_PKG_VERSION"), "device": device, "dtype": self.dtypes,
            "op": format!("decode_step {}", self.operation), "rows": 1, "hidden": HIDDEN, "max_abs_err": self.error,
            "batch_s": batch, "batch_k": NORMS, "batch_gb_per_s": self.bytes as f64 / batch * 1e-9,
            "bytes": self.bytes, "plan": self.plan, "copy": self.copy,
            "norm": parts(self.norms), "empty": parts(self.nothing), "copy_of_row": parts(self.copies),
            "over_copy": self.over_copy(), "own_share": self.own_share(),
        })
    }
}

/// Records into one pass, submits and waits.
fn submit(gpu: &Gpu, record: impl FnOnce(&mut ComputePass<'_>) -> Result<(), Failure>) -> Result<Parts, Failure> {
    let start = Instant::now();
    let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    record(&mut encoder.begin_compute_pass(&Default::default()))?;
    let commands = encoder.finish();
    let recorded = Instant::now();
    let index = gpu.queue().submit([commands]);
    let submitted = Instant::now();
    gpu.wait(index)?;
    let seconds = |from: Instant, to: Instant| (to - from).as_secs_f64();
    Ok(Parts { record: seconds(start, recorded), submit: seconds(recorded, submitted), wait: seconds(submitted, Instant::now()) })
}

fn medians(all: &[Parts]) -> Parts {
    let of = |part: fn(&Parts) -> f64| median(all.iter().map(part).collect()).unwrap_or(0.0);
    Parts { record: of(|parts| parts.record), submit: of(|parts| parts.submit), wait: of(|parts| parts.wait) }
}

/// Prints the table: three rows a step.
pub fn print(steps: &[Step]) {
    say!("A decode step: {NORMS} norms of one row of {HIDDEN}, each on buffers of its own, in one pass and one submit.\n");
    let headings = ["operation", "dtype", "dispatches of", "each", "record", "submit", "wait", "over copy"];
    let mut rows = table::new(&headings, 3);
    for step in steps {
        let ways = [(&*step.plan, step.norms), ("nothing", step.nothing), (&*step.copy, step.copies)];
        for (what, parts) in ways {
            let share = |part: f64| format!("{:.0} %", 100.0 * part / parts.whole());
            rows.add_row([
                step.operation.clone(),
                step.dtypes.clone(),
                what.to_owned(),
                table::time(parts.whole() / NORMS as f64),
                share(parts.record),
                share(parts.submit),
                share(parts.wait),
                format!("{:.2}", parts.whole() / step.copies.whole()),
            ]);
        }
    }
    table::print(&rows);
    say!("\nRecord, submit and wait: parts of the time. Nothing: wgpu's and the driver's own time. A copy is of the row alone.");
    for step in steps {
        let (over, own) = (step.over_copy(), 100.0 * step.own_share());
        let verdict = if over <= LIMIT { format!("{GOOD}held{GOOD:#}") } else { format!("{BAD}not held{BAD:#}") };
        say!(
            "{} {}: {over:.2} times the copy of its row (limit {LIMIT}: {verdict}); wgpu and the driver take {own:.0} % of it",
            step.operation,
            step.dtypes
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_what_a_step_takes() {
        let parts = |record: f64, submit: f64, wait: f64| Parts { record, submit, wait };
        let all = [parts(1.0, 5.0, 9.0), parts(2.0, 4.0, 8.0), parts(3.0, 6.0, 7.0)];
        assert_eq!(medians(&all).whole(), 2.0 + 5.0 + 8.0);
    }
}
