//! Measures which plans are best on this device, and keeps them in a record.

mod candidates;
mod contest;
mod race;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::bench::clock::Clock;
use crate::bench::operation::{Dtypes, Operation};
use crate::bench::shape;
use crate::failure::Failure;
use crate::output::{note, say};
use crate::whole_file::WholeFile;
use crate::{Context, progress, record};
use contest::{Job, Tuner};

/// Options of `tune`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  \
    wgpu-rmsnorm tune 1x4096 512x4096 --dtype bf16 --op norm,add-residual --record tuning.txt\n  \
    wgpu-rmsnorm bench 512x4096 --dtype bf16 --tuning tuning.txt\n\n\
    Each plan takes turns with the plan's own choice, and is kept where it takes less than 95 % of the time, twice. A choice holds for \
    a norm with its dtypes and for all numbers of rows from a power of two up to the next, and changes no bit. What the file has of \
    this device is added to; a record of another device, driver or version is replaced with --force alone.")]
pub struct Options {
    /// Shapes, ROWSxCHANNELS, or sets of them by name, as in `bench`
    #[arg(value_name = "SHAPE", required = true)]
    shapes: Vec<String>,
    /// The operations
    #[arg(long, value_enum, value_delimiter = ',', default_value = "norm")]
    op: Vec<Operation>,
    /// The dtypes
    #[arg(long, value_enum, value_delimiter = ',', default_value = "f32,f16,bf16")]
    dtype: Vec<Dtypes>,
    /// Keep the winners in this file
    #[arg(long, value_name = "FILE")]
    record: PathBuf,
    /// Try other orders of summation too. One that is kept changes results in the last place: of all norms of that length alike,
    /// once
    #[arg(long)]
    lanes: bool,
    /// Seconds for each plan
    #[arg(long, default_value_t = 0.2)]
    seconds: f64,
    /// Trust the wall clock alone, also where the device has timestamps
    #[arg(long)]
    wall_clock: bool,
}

impl Options {
    fn jobs(&self) -> Result<Vec<Job>, Failure> {
        let mut jobs = Vec::new();
        for text in &self.shapes {
            let members = shape::parse(text).map_err(|problem| Failure::new(format_args!("{text:?}"), problem))?;
            for member in members {
                let shape = |dtypes: Dtypes| member.size.shape(dtypes.of_rows().size());
                for &operation in &self.op {
                    jobs.extend(self.dtype.iter().map(|&dtypes| Job { operation, dtypes, shape: shape(dtypes) }));
                }
            }
        }
        Ok(jobs)
    }
}

/// Measures everything, prints a table and writes the record.
pub fn run(options: &Options, context: &Context) -> Result<ExitCode, Failure> {
    let report = context.json.report()?;
    let jobs = options.jobs()?;
    if !(options.seconds > 0.0 && options.seconds <= 60.0) {
        let problem = format!("--seconds: expected a number up to 60, got {}", options.seconds);
        return Err(Failure::new(problem, "0.2 is usual"));
    }
    report.keep_off([options.record.as_path()])?;
    let (adapter, gpu) = context.choice.untuned().timed_gpu()?;
    let mut tuning = record::to_extend(&options.record, &gpu, context.json.force)?;
    // A record grows: it is what it was, and more.
    let mut file = WholeFile::create(&options.record, true)?;
    let clock = Clock::new(&gpu, !options.wall_clock);
    if report.wants_text() {
        say!("{adapter}\nTimed by {}\n", clock.name());
    }
    let mut tuner = Tuner { gpu, clock, seconds: options.seconds };

    let mut lengths: Vec<u64> = jobs.iter().map(|job| job.shape[1]).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let steps = jobs.len() + if options.lanes { lengths.len() } else { 0 };
    let bar = progress::of_pieces(steps as u64);
    let mut orders = Vec::new();
    for hidden in lengths.into_iter().filter(|_| options.lanes) {
        bar.set_message(format!("lanes of rows of {hidden}"));
        let of_length: Vec<&Job> = jobs.iter().filter(|job| job.shape[1] == hidden).collect();
        let found = tuner.lanes(hidden, &of_length)?;
        tuning.set_lanes(hidden, found.as_ref().filter(|lanes| lanes.kept).map(|lanes| lanes.best))?;
        orders.extend(found);
        bar.inc(1);
    }
    let mut contests = Vec::new();
    for job in &jobs {
        bar.set_message(report::name(job).join(" "));
        let tried = tuner.contest(job, tuning.lanes(job.shape[1]))?;
        let best = tried.iter().find(|tried| tried.kept).map(|tried| tried.choice);
        tuning.set(&job.spec(), job.shape[0], best.unwrap_or_default());
        contests.push(tried);
        bar.inc(1);
    }
    bar.finish_and_clear();
    if tuner.clock.dropped > 0 {
        note(format_args!("{} submits had timestamps of zero or out of order, and do not count", tuner.clock.dropped));
    }

    file.write(&tuning.to_bytes())?;
    file.commit()?;
    if report.wants_text() {
        report::print(&jobs, &contests, &orders);
        say!("{}: {} recorded.", options.record.display(), tuning.len());
    }
    report.write(&report::json(&adapter.to_string(), &jobs, &contests, &orders))?;
    Ok(ExitCode::SUCCESS)
}
