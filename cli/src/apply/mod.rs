//! The rows of a file, normalised into another.

mod files;
mod job;
mod words;

use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use serde_json::{Map, Value, json};
use wgpu_rmsnorm::verify::Outcome;
use wgpu_rmsnorm::{BySlot, DType, NormSpec, Slot};

use crate::definition::Definition;
use crate::explain::host;
use crate::failure::{Failure, WRONG};
use crate::output::{note, number, say};
use crate::tensor::{Format, Sink};
use crate::{Context, outcome, table};
use files::Files;
use job::Job;

/// Options of `apply`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    wgpu-rmsnorm apply x.npy -o y.npy --eps 1e-6\n  \
    wgpu-rmsnorm apply x.npy -o y.npy --weight model.safetensors:model.norm.weight --config config.json --check\n  \
    wgpu-rmsnorm apply x.npy -o codes.npy --eps 1e-6 --quantized f8e4m3 --scale-out scales.npy\n  \
    wgpu-rmsnorm apply part0.npy -o stats0.npy --stats\n  \
    wgpu-rmsnorm apply part0.npy -o y0.npy --statistics stats.npy --total 8192 --eps 1e-6\n\n\
    The last dimension is normalised; all others are rows. Rows go through the GPU in batches, so that files may be larger \
    than memory: the results are the same bits. The outputs appear when they are whole. A .npy file has no type for bfloat16: \
    such a file is read with --dtype bf16, and read back in Python with numpy.load(file).view(ml_dtypes.bfloat16); codes of \
    type f8e4m3 are written as bytes, for .view(ml_dtypes.float8_e4m3fn).")]
pub struct Options {
    #[command(flatten)]
    files: Files,
    /// Compare every element with the float64 reference; a wrong result is not written
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    definition: Definition,
}

/// The name of a tensor in a .safetensors file that came from a file without names.
const UNNAMED: &str = "output";

/// Normalises a file.
pub fn run(options: &Options, context: &Context) -> Result<ExitCode, Failure> {
    let (files, definition) = (&options.files, &options.definition);
    let report = context.json.report()?;
    report.keep_off(files.paths().chain(definition.config()))?;
    // Statistics are of squares alone.
    let (preset, eps) = if files.stats { definition.resolve_or(0.0)? } else { definition.resolve_with_eps()? };
    let (adapter, gpu) = context.choice.gpu()?;
    let mut job = Job::new(files, definition, gpu.caps(), |hidden| preset.spec(hidden, eps))?;
    let spec = job.spec;
    let norm = gpu.norm(spec)?;
    let name = job.name.as_deref().unwrap_or(UNNAMED);
    let mut sinks = files.sinks(&spec, &job.shape, name, context.json.force)?;

    if report.wants_text() {
        let dtype = |slot: Slot| spec.dtype_of(slot).map(|dtype| format!("{dtype} {slot}"));
        let rounded = if job.is_rounded { ", rounded from the file's own dtype" } else { "" };
        let weight = dtype(Slot::Weight).unwrap_or("no weight".into());
        let bias = dtype(Slot::Bias).map_or(String::new(), |bias| format!(", {bias}"));
        say!("Input    {}: {} rows of {} {}{rounded}", shown(files, Slot::Input), job.rows, spec.hidden, spec.input);
        for (heading, line) in words::lines(files, &spec) {
            say!("{heading:<8} {line}");
        }
        if !files.stats {
            say!("Norm     {preset}, eps {eps:e}, {weight}{bias}, output {}", spec.output_dtype());
        }
        say!("Adapter  {adapter}");
        if spec.weight.is_none() && !files.stats && definition.config().is_some() {
            note("without --weight the rows are normalised and not weighted");
        }
    }
    let start = Instant::now();
    let checked = job.run(&norm, &mut sinks, options.check)?;
    let right = checked.as_ref().is_none_or(Outcome::passed);
    if right {
        commit(sinks)?;
    }
    let seconds = start.elapsed().as_secs_f64();

    if report.wants_text() {
        if let Some(outcome) = &checked {
            say!("Checked  {}", outcome::verdict(outcome, spec.output_dtype()));
            if let Some(counts) = words::counts(&spec, job.rows) {
                say!("         {counts}");
            }
        }
        if right {
            for (slot, location) in files.iter().filter(|(slot, _)| slot.is_written()) {
                let size = spec.dtype_of(slot).map_or(0, DType::size);
                let bytes = table::bytes(job.rows * spec.length_of(slot) * size);
                let time = if slot == Slot::Output { format!(" in {}, files included", table::time(seconds)) } else { "".into() };
                say!("Wrote    {location}: {bytes}{time}");
            }
        } else {
            say!("Wrote    nothing: `wgpu-rmsnorm verify` tells more about this driver");
        }
    }
    if right {
        explain_npy(files, &spec);
    }
    let by_slot = |value: &dyn Fn(Slot) -> Value| -> Map<String, Value> {
        Slot::ALL.into_iter().map(|slot| (slot.name().to_owned(), value(slot))).collect()
    };
    report.write(&json!({
        "input": shown(files, Slot::Input),
        "output": shown(files, Slot::Output),
        "files": by_slot(&|slot| json!(files.get(slot).map(ToString::to_string))),
        "written": right,
        "shape": job.shape,
        "preset": preset.name(),
        "eps": number(eps),
        "norm": host::norm(&spec, preset),
        "dtypes": by_slot(&|slot| json!(spec.dtype_of(slot).map(DType::name))),
        "adapter": adapter.to_string(),
        "seconds": seconds,
        "check": checked.as_ref().map(outcome::json),
    }))?;
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::from(WRONG) })
}

fn shown(files: &Files, slot: Slot) -> String {
    files.get(slot).map_or(String::new(), ToString::to_string)
}

/// Gives the outputs their names. The sum comes last: it may replace the residual, which is needed again where anything fails.
fn commit(mut sinks: BySlot<Sink>) -> Result<(), Failure> {
    let sum = sinks.take(Slot::ResidualOut);
    let others = Slot::ALL.into_iter().filter_map(|slot| sinks.take(slot)).collect::<Vec<_>>();
    others.into_iter().chain(sum).try_for_each(Sink::commit)
}

/// Says how a file without a type is read.
fn explain_npy(files: &Files, spec: &NormSpec) {
    for (slot, location) in files.iter().filter(|(slot, location)| slot.is_written() && location.format == Format::Npy) {
        if let Some(view) = spec.dtype_of(slot).and_then(words::in_python) {
            note(format_args!("read it in Python with numpy.load({:?}).view({view})", location.to_string()));
        }
    }
}
