//! The case list on every adapter.

use std::fs::File;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};
use wgpu_rmsnorm::verify::{Case, CaseReport, Outcome, Status, Tier, cases, run_case};
use wgpu_rmsnorm::{Adapter, DType, Gpu, GpuOptions};

use crate::output::say;
use crate::{Failure, no_adapter, table};

/// Options of `verify`.
#[derive(Debug, Args)]
pub struct Options {
    /// How much to run
    #[arg(long, value_enum, default_value_t = Amount::Quick)]
    tier: Amount,
    /// Only cases whose kind or name contains this, whatever the case
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Print the cases instead of running them
    #[arg(long)]
    list: bool,
    /// Write every case and its result to this file as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Amount {
    /// What every push should run: a minute or two on a software driver
    Quick,
    /// Everything: ten minutes or more on a software driver
    Full,
}

/// The exit code where there is nothing to verify.
const NO_ADAPTER: u8 = 2;

/// What the cases found on one adapter.
struct Found {
    adapter: String,
    /// Why the adapter did not open.
    error: Option<String>,
    cases: Vec<CaseReport>,
    /// How long all of them took, data and reference included.
    time: Duration,
}

/// Verifies every adapter and prints a table for each.
pub fn run(options: &Options, adapters: &[Adapter]) -> Result<ExitCode, Failure> {
    let mut list = cases(if options.tier == Amount::Full { Tier::Full } else { Tier::Quick });
    if let Some(text) = &options.only {
        let text = text.to_lowercase();
        list.retain(|case| case.kind.to_lowercase().contains(&text) || case.name.to_lowercase().contains(&text));
        if list.is_empty() {
            return Err(format!("no case of this tier contains {text:?} in its kind or name; --list shows them").into());
        }
    }
    if options.list {
        list.iter().for_each(|case| say!("{}: {}", case.kind, case.name));
        return Ok(ExitCode::SUCCESS);
    }
    if adapters.is_empty() {
        eprintln!("error: {}", no_adapter());
        return Ok(ExitCode::from(NO_ADAPTER));
    }
    // A report that cannot be written is better known before the work than after it.
    let report = match &options.json {
        Some(file) => Some(File::create(file).map_err(|e| format!("cannot write {}: {e}; choose another file", file.display()))?),
        None => None,
    };
    let all: Vec<Found> = adapters.iter().map(|adapter| verify(adapter, &list)).collect();
    if let Some(report) = report {
        serde_json::to_writer_pretty(report, &all.iter().map(to_json).collect::<Vec<_>>())?;
    }
    all.iter().for_each(print);
    let failed = all.iter().map(Found::failed).sum::<usize>();
    let ran: usize = all.iter().map(|found| found.cases.len()).sum();
    if failed == 0 {
        say!("Adapters: {}. Cases: {ran}, none wrong.", all.len());
        Ok(ExitCode::SUCCESS)
    } else {
        say!("Adapters: {}. Cases: {ran}, {failed} wrong: update the driver, or report it with --json.", all.len());
        Ok(ExitCode::FAILURE)
    }
}

fn verify(adapter: &Adapter, list: &[Case]) -> Found {
    // The self-test is left out: its findings would be found again, case by case.
    let opened = pollster::block_on(Gpu::open(adapter, &GpuOptions::default().without_self_test()));
    let gpu = match opened {
        Ok(gpu) => gpu,
        Err(error) => {
            return Found {
                adapter: adapter.to_string(),
                error: Some(error.to_string()),
                cases: Vec::new(),
                time: Duration::ZERO,
            };
        }
    };
    let bar = ProgressBar::new(list.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len}  {elapsed}  {wide_msg}") {
        bar.set_style(style);
    }
    let start = Instant::now();
    let mut reports = Vec::new();
    for case in list {
        bar.set_message(format!("{}: {}", case.kind, case.name));
        reports.push(pollster::block_on(run_case(&gpu, case)));
        bar.inc(1);
    }
    bar.finish_and_clear();
    Found { adapter: adapter.to_string(), error: None, cases: reports, time: start.elapsed() }
}

impl Found {
    /// Cases that failed; an adapter that did not open counts as one.
    fn failed(&self) -> usize {
        self.count(|s| matches!(s, Status::Failed(_) | Status::Broken(_))) + usize::from(self.error.is_some())
    }

    fn count(&self, which: impl Fn(&Status) -> bool) -> usize {
        self.cases.iter().filter(|case| which(&case.status)).count()
    }

    /// The kinds, in the order of the list.
    fn kinds(&self) -> Vec<&'static str> {
        let mut kinds: Vec<&'static str> = self.cases.iter().map(|case| case.kind).collect();
        kinds.dedup();
        let mut distinct = Vec::new();
        kinds.retain(|kind| {
            !distinct.contains(kind) && {
                distinct.push(kind);
                true
            }
        });
        kinds
    }
}

fn print(found: &Found) {
    say!("{}", found.adapter);
    if let Some(error) = &found.error {
        say!("  not opened: {error}\n");
        return;
    }
    let headings = ["kind", "cases", "passed", "failed", "skipped", "elements", "f32 ULP", "f16 ULP", "bf16 ULP"];
    let mut rows = table::new(&headings, 1);
    for kind in found.kinds() {
        rows.add_row(summary(kind, found.cases.iter().filter(|case| case.kind == kind)));
    }
    rows.add_row(summary("all", found.cases.iter()));
    table::print(&rows);
    for case in &found.cases {
        match &case.status {
            Status::Failed(complaint) | Status::Broken(complaint) => {
                say!("FAILED   {}: {}\n         {complaint}", case.kind, case.name)
            }
            Status::Skipped(reason) => say!("skipped  {}: {}\n         {reason}", case.kind, case.name),
            _ => {}
        }
    }
    say!("");
}

fn summary<'a>(name: &str, cases: impl Iterator<Item = &'a CaseReport>) -> Vec<String> {
    let mut counts = [0usize; 3];
    let mut outcomes = [(DType::F32, Outcome::default()), (DType::F16, Outcome::default()), (DType::BF16, Outcome::default())];
    for case in cases {
        let index = match case.status {
            Status::Passed => 0,
            Status::Skipped(_) => 2,
            _ => 1,
        };
        counts[index] += 1;
        for (_, outcome) in outcomes.iter_mut().filter(|(dtype, _)| *dtype == case.output) {
            outcome.merge(&case.outcome);
        }
    }
    let elements: usize = outcomes.iter().map(|(_, outcome)| outcome.elements).sum();
    let [passed, failed, skipped] = counts;
    let mut row = vec![
        name.to_owned(),
        (passed + failed + skipped).to_string(),
        passed.to_string(),
        failed.to_string(),
        skipped.to_string(),
        elements.to_string(),
    ];
    row.extend(outcomes.iter().map(|(_, o)| if o.elements == 0 { "-".into() } else { format!("{:.3}", o.worst_ulp) }));
    row
}

fn to_json(found: &Found) -> Value {
    let cases: Vec<Value> = found
        .cases
        .iter()
        .map(|case| {
            let (status, message) = match &case.status {
                Status::Passed => ("passed", None),
                Status::Failed(complaint) | Status::Broken(complaint) => ("failed", Some(complaint.as_str())),
                Status::Skipped(reason) => ("skipped", Some(reason.as_str())),
                _ => ("unknown", None),
            };
            json!({
                "kind": case.kind,
                "name": case.name,
                "output": case.output.name(),
                "status": status,
                "message": message,
                "elements": case.outcome.elements,
                "wrong": case.outcome.wrong,
                "worst_ulp": case.outcome.worst_ulp,
                "misrounded": case.outcome.misrounded,
            })
        })
        .collect();
    json!({
        "adapter": found.adapter,
        "error": found.error,
        "seconds": found.time.as_secs_f64(),
        "passed": found.count(|s| *s == Status::Passed),
        "failed": found.count(|s| matches!(s, Status::Failed(_) | Status::Broken(_))),
        "skipped": found.count(|s| matches!(s, Status::Skipped(_))),
        "cases": cases,
    })
}
