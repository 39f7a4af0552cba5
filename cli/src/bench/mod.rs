//! How fast norms are, beside copies of the same bytes in the same run.

pub mod clock;
mod compare;
mod copies;
mod copy_kernels;
mod decode;
mod empty;
mod measure;
pub mod operation;
mod plot;
mod report;
pub mod shape;
mod verdict;
pub mod work;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use wgpu_rmsnorm::Gpu;

use crate::failure::Failure;
use crate::forced::Forced;
use crate::output::{Report, note, say};
use crate::{Context, progress};
use clock::Clock;
pub use clock::TIMESTAMPS;
use compare::Earlier;
use copies::Copies;
use decode::Step;
use measure::measure;
use operation::{Dtypes, Operation};
use plot::Plot;
use report::{Line, Subject};
use shape::Member;
use work::{Unready, Work};

/// Options of `bench`.
#[derive(Debug, Args)]
#[command(
    after_help = "Sets of shapes: decode (1 to 64 rows of 2048 to 16384), prefill, heads, long, odd, llama, peers. Two sweeps end with a \
    verdict: cliff (both sides of the powers of two from 64 to 65536, about 2^20 elements each: the worst time of an element beside \
    that in rows of the nearest multiple of 64), and growth (1 MiB to 1 GiB of input in doublings, by rows of 4096 and by the length of \
    1024 rows: the worst share of the copy over that at half the size).\n\n\
    GB/s counts every operand once: rows read and rows written, weights, what is written beside. The copy beside it is the fastest \
    of several kernels that read and write half of these bytes each. All take turns in the same run; a time is the median of many \
    submits, each of several norms. Ratios mean something on a busy machine, times do not.\n\n\
    --json writes an object a line, as soon as it is known. median_s and gb_per_s are of one norm, recorded, submitted and waited for, \
    batch_s of one of batch_k in one submit: as other libraries are timed. norm_s, copy_s and share_of_copy are those of the table. \
    max_abs_err is the largest distance of a result to float64."
)]
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
    /// Draw the share of the copy over the length of rows, as an .svg file
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
    /// Time the 65 norms of one token of a LLaMA of 32 layers instead, in one submit: beside as many dispatches that do nothing, and
    /// as many copies of the row
    #[arg(long, conflicts_with_all = ["shapes", "compare", "plot"])]
    decode_step: bool,
    #[command(flatten)]
    forced: Forced,
}

impl Options {
    fn members(&self) -> Result<Vec<Member>, Failure> {
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
    let members = options.members()?;
    if !(options.seconds > 0.0 && options.seconds <= 600.0) {
        let problem = format!("--seconds: expected a number up to 600, got {}", options.seconds);
        return Err(Failure::new(problem, "1 is usual"));
    }
    let (compare, plot) = (options.compare.as_deref(), options.plot.as_deref());
    report.keep_off(compare.into_iter().chain(plot))?;
    let earlier = compare.map(Earlier::read).transpose()?;
    let plot = plot.map(|file| Plot::create(file, context.json.force, compare)).transpose()?;
    let (adapter, gpu) = context.choice.timed_gpu()?;
    let mut bench = Bench { device: adapter.to_string(), clock: Clock::new(&gpu, !options.wall_clock), gpu, options };
    if options.decode_step {
        bench.decode_steps(&mut report)?;
    } else {
        if report.wants_text() {
            say!("{adapter}\nTimed by {}\n", bench.clock.name());
        }
        let lines = bench.lines(&members, &mut report)?;
        if report.wants_text() {
            report::print(&lines, earlier.as_ref());
            report::print_verdicts(&lines);
        }
        if let Some(plot) = plot {
            plot.write(&bench.device, &report::series(&lines))?;
        }
    }
    report.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// What all measurements of a run have in common.
struct Bench<'a> {
    options: &'a Options,
    device: String,
    gpu: Gpu,
    clock: Clock,
}

impl Bench<'_> {
    /// Norms beside copies of the same bytes; each is reported as soon as it is known.
    fn lines(&mut self, members: &[Member], report: &mut Report) -> Result<Vec<Line>, Failure> {
        let Options { op, dtype, .. } = self.options;
        let bar = progress::of_pieces((members.len() * op.len() * dtype.len()) as u64);
        let mut lines = Vec::new();
        let mut copies: Option<Copies> = None;
        for &operation in op {
            for member in members {
                for &dtypes in dtype {
                    let shape = member.size.shape(dtypes.of_rows().size());
                    let name = format!("{} {}x{} {}", operation.name(), shape[0], shape[1], dtypes.name());
                    bar.set_message(name.clone());
                    bar.inc(1);
                    let work = match Work::new(&self.gpu, operation.spec(shape[1], dtypes), shape, self.options.forced.force()) {
                        Err(Unready::TooLarge(failure)) if member.size.may_be_too_large() => {
                            bar.suspend(|| note(format_args!("{name} is left out: {failure}")));
                            continue;
                        }
                        work => work?,
                    };
                    let subject = Subject { operation, dtypes, shape, set: member.set };
                    let line = self.line(subject, &work, &mut copies)?;
                    report.line(&line.json(&self.device, self.clock.name()))?;
                    lines.push(line);
                    self.gpu.trim_pipelines(wgpu_rmsnorm::verify::PIPELINES_TO_KEEP);
                }
            }
        }
        bar.finish_and_clear();
        if self.clock.dropped > 0 {
            note(format_args!("{} submits had timestamps of zero or out of order, and do not count", self.clock.dropped));
        }
        Ok(lines)
    }

    /// One norm; the copies are those of the last one, where they are of as many bytes.
    fn line(&mut self, subject: Subject, work: &Work, copies: &mut Option<Copies>) -> Result<Line, Failure> {
        let error = work.check(&self.gpu)?;
        let half = work.bytes() / 2;
        // Those of other sizes go first: no device need have room for both.
        *copies = copies.take().filter(|copies| copies.is_for(&self.gpu, half));
        let copies = match copies {
            Some(same) => same,
            none => none.insert(Copies::new(&self.gpu, half, &mut self.clock)?),
        };
        let timed = measure(work, copies, &mut self.clock, self.options.seconds)?;
        Ok(Line::new(subject, work, error, copies, timed))
    }

    /// Decode steps.
    fn decode_steps(&mut self, report: &mut Report) -> Result<(), Failure> {
        let Options { op, dtype, seconds, forced, .. } = self.options;
        let mut steps = Vec::new();
        for &operation in op {
            for &dtypes in dtype {
                let step = Step::measure(&self.gpu, operation, dtypes, forced.force(), &mut self.clock, *seconds)?;
                report.line(&step.json(&self.device))?;
                steps.push(step);
            }
        }
        if report.wants_text() {
            say!("{}", self.device);
            decode::print(&steps);
        }
        Ok(())
    }
}
