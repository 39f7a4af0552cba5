//! The case list on every adapter.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use pollster::block_on;
use serde_json::{Map, Value, json};
use wgpu_rmsnorm::verify::{Case, CaseReport, Outcome, PIPELINES_TO_KEEP, Status, Tier, cases, run_case};
use wgpu_rmsnorm::{Adapter, CompileTime, DType, GpuOptions, Slot};

use crate::choice::no_adapter;
use crate::failure::{Failure, WRONG};
use crate::output::{BAD, GOOD, say};
use crate::whole_file::WholeFile;
use crate::{Context, junit, outcome, progress, table};

/// Options of `verify`.
#[derive(Debug, Args)]
#[command(
    after_help = "A letter and a number at the start of a case's name stand for a failure that was seen in other libraries or \
    drivers, which the case restates."
)]
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
    /// Write every case and its result to this file as JUnit XML
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Amount {
    /// What every push should run: a minute or two on a software driver
    Quick,
    /// Everything: ten minutes or more on a software driver
    Full,
}

/// What the cases found on one adapter.
pub struct Found {
    /// Which.
    pub adapter: String,
    /// Why the adapter did not open.
    pub error: Option<String>,
    /// What came of every case, and how long it took, data and reference included.
    pub cases: Vec<(CaseReport, Duration)>,
    /// How long all of them took.
    pub time: Duration,
    /// The kernel that took longest to compile.
    pub slowest_compile: Option<CompileTime>,
}

/// Verifies every adapter and prints a table for each.
pub fn run(options: &Options, context: &Context) -> Result<ExitCode, Failure> {
    let mut list = cases(if options.tier == Amount::Full { Tier::Full } else { Tier::Quick });
    if let Some(text) = &options.only {
        let text = text.to_lowercase();
        list.retain(|case| case.kind.to_lowercase().contains(&text) || case.name.to_lowercase().contains(&text));
        if list.is_empty() {
            let problem = format!("--only: no case of this tier contains {text:?} in its kind or name");
            return Err(Failure::new(problem, "--list shows them"));
        }
    }
    let report = context.json.report()?;
    if options.list {
        if report.wants_text() {
            list.iter().for_each(|case| say!("{}: {}", case.kind, case.name));
        }
        report.write(&list.iter().map(|case| json!({"kind": case.kind, "name": case.name})).collect())?;
        return Ok(ExitCode::SUCCESS);
    }
    report.keep_off(options.junit.as_deref())?;
    let junit = options.junit.as_ref().map(|file| WholeFile::create(file, context.json.force)).transpose()?;
    let adapters = context.choice.adapters()?;
    if adapters.is_empty() {
        let failure = no_adapter();
        // Who looks at the report alone shall not take none for all.
        if let Some(file) = junit {
            junit::write(&[Found::unopened("no adapter", &failure)], file)?;
        }
        return Err(failure);
    }
    let mut all = Vec::new();
    for adapter in &adapters {
        let found = verify(context, adapter, &list);
        // At once: a driver further down the list may take the program with it.
        if report.wants_text() {
            print(&found);
        }
        all.push(found);
    }
    if report.wants_text() {
        conclude(&all);
    }
    report.write(&all.iter().map(to_json).collect())?;
    if let Some(file) = junit {
        junit::write(&all, file)?;
    }
    Ok(if all.iter().all(Found::is_right) { ExitCode::SUCCESS } else { ExitCode::from(WRONG) })
}

fn conclude(all: &[Found]) {
    let ran: usize = all.iter().map(|found| found.cases.len()).sum();
    let wrong: usize = all.iter().map(|found| found.count(is_wrong)).sum();
    let closed = all.iter().filter(|found| found.error.is_some()).count();
    let counted = format!("Adapters: {}. Cases: {ran}", all.len());
    if wrong == 0 && closed == 0 {
        return say!("{counted}, {GOOD}none wrong{GOOD:#}.");
    }
    let unopened = if closed == 0 { String::new() } else { format!("; {BAD}not opened: {closed}{BAD:#}") };
    say!("{counted}, {BAD}{wrong} wrong{BAD:#}{unopened}. Update the driver, or report it with --json=FILE.");
}

fn is_wrong(status: &Status) -> bool {
    matches!(status, Status::Failed(_) | Status::Broken(_))
}

fn verify(context: &Context, adapter: &Adapter, list: &[Case]) -> Found {
    // The self-test is left out: its findings would be found again, case by case.
    let gpu = match context.choice.open(adapter, &GpuOptions::default().without_self_test()) {
        Ok(gpu) => gpu,
        Err(error) => {
            return Found::unopened(adapter, &error);
        }
    };
    let bar = progress::of_pieces(list.len() as u64);
    let start = Instant::now();
    let mut reports = Vec::new();
    for case in list {
        bar.set_message(format!("{}: {}", case.kind, case.name));
        let start = Instant::now();
        reports.push((block_on(run_case(&gpu, case)), start.elapsed()));
        gpu.trim_pipelines(PIPELINES_TO_KEEP);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let slowest_compile = gpu.slowest_compile();
    Found { adapter: adapter.to_string(), error: None, cases: reports, time: start.elapsed(), slowest_compile }
}

impl Found {
    fn unopened(adapter: impl ToString, error: &Failure) -> Self {
        Found {
            adapter: adapter.to_string(),
            error: Some(error.to_string()),
            cases: Vec::new(),
            time: Duration::ZERO,
            slowest_compile: None,
        }
    }

    /// Whether the adapter opened, and no case failed.
    fn is_right(&self) -> bool {
        self.error.is_none() && self.count(is_wrong) == 0
    }

    fn reports(&self) -> impl Iterator<Item = &CaseReport> + Clone {
        self.cases.iter().map(|(case, _)| case)
    }

    /// The dtypes of what was written, in their own order.
    fn dtypes(&self) -> Vec<DType> {
        let all = DType::ALL.into_iter().chain(DType::CODES);
        all.filter(|dtype| self.reports().any(|case| case.operands.iter().any(|(_, of, _)| of == dtype))).collect()
    }

    fn count(&self, which: impl Fn(&Status) -> bool) -> usize {
        self.cases.iter().filter(|(case, _)| which(&case.status)).count()
    }

    /// The kinds, in the order of the list.
    fn kinds(&self) -> Vec<&'static str> {
        let mut kinds = Vec::new();
        for case in self.reports() {
            if !kinds.contains(&case.kind) {
                kinds.push(case.kind);
            }
        }
        kinds
    }
}

fn print(found: &Found) {
    say!("{}", found.adapter);
    if let Some(error) = &found.error {
        say!("  not opened: {error}\n");
        return;
    }
    let dtypes = found.dtypes();
    let ulp: Vec<String> = dtypes.iter().map(|dtype| format!("{dtype} ULP")).collect();
    let mut headings = vec!["kind", "cases", "passed", "failed", "skipped", "elements"];
    headings.extend(ulp.iter().map(String::as_str));
    let mut rows = table::new(&headings, 1);
    for kind in found.kinds() {
        rows.add_row(summary(kind, &dtypes, found.reports().filter(|case| case.kind == kind)));
    }
    rows.add_row(summary("all", &dtypes, found.reports()));
    table::print(&rows);
    if let Some(slowest) = &found.slowest_compile {
        say!("Slowest kernel to compile: {slowest}");
    }
    for case in found.reports() {
        match &case.status {
            Status::Failed(complaint) | Status::Broken(complaint) => {
                say!("{BAD}FAILED{BAD:#}   {}: {}\n         {complaint}", case.kind, case.name)
            }
            Status::Skipped(reason) => say!("skipped  {}: {}\n         {reason}", case.kind, case.name),
            _ => {}
        }
    }
    say!("");
}

fn summary<'a>(name: &str, dtypes: &[DType], cases: impl Iterator<Item = &'a CaseReport> + Clone) -> Vec<String> {
    let mut counts = [0usize; 3];
    for case in cases.clone() {
        let index = match case.status {
            Status::Passed => 0,
            Status::Skipped(_) => 2,
            _ => 1,
        };
        counts[index] += 1;
    }
    let outcomes: Vec<Outcome> = dtypes.iter().map(|dtype| merged(*dtype, cases.clone())).collect();
    let elements: usize = outcomes.iter().map(|outcome| outcome.elements).sum();
    let [passed, failed, skipped] = counts;
    let mut row = vec![
        name.to_owned(),
        (passed + failed + skipped).to_string(),
        passed.to_string(),
        failed.to_string(),
        skipped.to_string(),
        elements.to_string(),
    ];
    row.extend(outcomes.iter().map(|o| if o.elements == 0 { "-".into() } else { format!("{:.3}", o.worst_ulp) }));
    row
}

/// What was found of all operands in this dtype together.
fn merged<'a>(dtype: DType, cases: impl Iterator<Item = &'a CaseReport>) -> Outcome {
    let mut outcome = Outcome::default();
    let operands = cases.flat_map(|case| &case.operands).filter(|(_, of, _)| *of == dtype);
    operands.for_each(|(.., of_one)| outcome.merge(of_one));
    outcome
}

fn to_json(found: &Found) -> Value {
    let operand = |(slot, dtype, outcome): &(Slot, DType, Outcome)| json!({"operand": slot.name(), "dtype": dtype.name(), "elements": outcome.elements, "worst_ulp": outcome.worst_ulp});
    let case = |(case, time): &(CaseReport, Duration)| {
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
            "seconds": time.as_secs_f64(),
            "outcome": outcome::json(&case.outcome),
            "operands": case.operands.iter().map(operand).collect::<Vec<_>>(),
        })
    };
    let of_dtype = |dtype: DType| {
        let outcome = merged(dtype, found.reports());
        let counts = json!({
            "elements": outcome.elements,
            "wrong": outcome.wrong,
            "worst_ulp": outcome.worst_ulp,
            "misrounded": outcome.misrounded,
        });
        (dtype.name().to_owned(), counts)
    };
    json!({
        "adapter": found.adapter,
        "error": found.error,
        "seconds": found.time.as_secs_f64(),
        "slowest_compile": found.slowest_compile.as_ref().map(|slowest| json!({
            "kernel": slowest.kernel,
            "milliseconds": slowest.time.as_secs_f64() * 1e3,
        })),
        "passed": found.count(|s| *s == Status::Passed),
        "failed": found.count(is_wrong),
        "skipped": found.count(|s| matches!(s, Status::Skipped(_))),
        "dtypes": found.dtypes().into_iter().map(of_dtype).collect::<Map<String, Value>>(),
        "cases": found.cases.iter().map(case).collect::<Vec<_>>(),
    })
}
