//! How fast norms are, beside copies of the same bytes in the same run.

pub mod clock;
mod compare;
mod copies;
mod measure;
pub mod operation;
mod report;
pub mod shape;
pub mod work;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use crate::failure::Failure;
use crate::forced::Forced;
use crate::output::{note, say};
use crate::{Context, progress};
use clock::Clock;
pub use clock::TIMESTAMPS;
use compare::Earlier;
use copies::Copies;
use measure::measure;
use operation::{Dtypes, Operation};
use report::{Line, Subject};
use shape::Shape;
use work::Work;

/// Options of `bench`.
#[derive(Debug, Args)]
#[command(after_help = "Sets of shapes: decode (1 to 64 rows of 2048 to 16384), prefill, heads, long, odd, llama, peers.\n\n\
    GB/s counts every operand once: rows read and rows written, weights, what is written beside. The copy beside it is the fastest \
    of several kernels that read and write half of these bytes each. All take turns in the same run; a time is the median of many \
    submits, each of several norms. Ratios mean something on a busy machine, times do not.")]
pub struct Options {
    /// Shapes, ROWSxCHANNELS, or sets of them by name [default: prefill decode heads odd]
    #[arg(value_name = "SHAPE")]
    shapes: Vec<String>,
    /// The operations
    #[arg(long, value_enum, value_delimiter = ',', default_value = "norm")]
    op: Vec<Operation>,
    /// The dtypes
    #[arg(long, value_enum, value_delimiter = ',', default_value = "f32,f16,bf16")]
    dtype: Vec<Dtypes>,
    /// Seconds for each line
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Trust the wall clock alone, also where the device has timestamps
    #[arg(long)]
    wall_clock: bool,
    /// Show what moved since this report, which an earlier bench --json=FILE wrote
    #[arg(long, value_name = "FILE")]
    compare: Option<PathBuf>,
    #[command(flatten)]
    forced: Forced,
}

impl Options {
    fn shapes(&self) -> Result<Vec<Shape>, Failure> {
        let named: Vec<&str> = match self.shapes.is_empty() {
            true => vec!["prefill", "decode", "heads", "odd"],
            false => self.shapes.iter().map(String::as_str).collect(),
        };
        let parse = |text: &&str| shape::parse(text).map_err(|problem| Failure::new(format_args!("{text:?}"), problem));
        Ok(named.iter().map(parse).collect::<Result<Vec<_>, _>>()?.concat())
    }
}

/// Times everything and prints a table.
pub fn run(options: &Options, context: &Context) -> Result<ExitCode, Failure> {
    let mut report = context.json.report()?;
    let shapes = options.shapes()?;
    if !(options.seconds > 0.0 && options.seconds <= 600.0) {
        let problem = format_args!("--seconds: expected a number up to 600, got {}", options.seconds);
        return Err(Failure::new(problem, "1 is usual"));
    }
    report.keep_off(options.compare.as_deref())?;
    let earlier = options.compare.as_deref().map(Earlier::read).transpose()?;
    let (adapter, gpu) = context.choice.timed_gpu()?;
    let mut clock = Clock::new(&gpu, !options.wall_clock);
    if report.wants_text() {
        say!("{adapter}\nTimed by {}\n", clock.name());
    }
    let device = adapter.to_string();
    let bar = progress::of_pieces((shapes.len() * options.op.len() * options.dtype.len()) as u64);
    let mut lines = Vec::new();
    let mut copies: Option<(u64, Copies)> = None;
    for &operation in &options.op {
        for &shape in &shapes {
            for &dtypes in &options.dtype {
                bar.set_message(format!("{} {}x{} {}", operation.name(), shape[0], shape[1], dtypes.name()));
                let work = Work::new(&gpu, operation.spec(shape[1], dtypes), shape, options.forced.force())?;
                let error = work.check(&gpu)?;
                let half = work.bytes() / 2;
                let copies = match &mut copies {
                    Some((bytes, copies)) if *bytes == half => copies,
                    other => &mut other.insert((half, Copies::new(&gpu, half, &mut clock)?)).1,
                };
                let timed = measure(&work, copies, &mut clock, options.seconds)?;
                let line = Line::new(Subject { operation, dtypes, shape }, &work, error, copies, timed);
                report.line(&line.json(&device, clock.name()))?;
                lines.push(line);
                gpu.trim_pipelines(wgpu_rmsnorm::verify::PIPELINES_TO_KEEP);
                bar.inc(1);
            }
        }
    }
    bar.finish_and_clear();
    if clock.dropped > 0 {
        note(format_args!("{} submits had timestamps of zero or out of order, and do not count", clock.dropped));
    }
    if report.wants_text() {
        report::print(&lines, earlier.as_ref());
    }
    report.finish()?;
    Ok(ExitCode::SUCCESS)
}
