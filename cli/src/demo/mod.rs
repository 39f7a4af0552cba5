//! The main job on real input.

mod family;

use std::process::ExitCode;
use std::time::Instant;

use pollster::block_on;
use serde_json::json;
use wgpu_rmsnorm::{DType, Gpu, GpuOptions, Inputs, NormSpec, Values, reference, verify};

use crate::activations::{self, Layer};
use crate::choice::no_adapter;
use crate::failure::{Failure, WRONG};
use crate::output::{BAD, GOOD, number, say};
use crate::{Context, table, timing};

/// The largest distance to the recording that is right: two f32 computations, each within 4 ULP of the truth; in half
/// precision the operands are rounded too, each by half an ULP, and the result.
const MOST_ULP: f64 = 8.0;

/// Normalises every recorded input, and some of them by every member of the family.
pub fn run(context: &Context) -> Result<ExitCode, Failure> {
    let report = context.json.report()?;
    let recording = activations::read()?;
    let adapter = context.choice.adapters()?.into_iter().next();
    let gpu = adapter.as_ref().map(|adapter| context.choice.open(adapter, &GpuOptions::default())).transpose()?;
    let device = adapter.map_or("none: float64 on the CPU".to_owned(), |adapter| adapter.to_string());
    if report.wants_text() {
        if gpu.is_none() {
            say!("{}.\nThe CPU reference does the work instead.\n", no_adapter());
        }
        say!("The RMSNorms of a small Llama on the prompt {:?}, eps {:e}", recording.prompt, recording.eps);
        say!("Adapter  {device}\n");
    }
    let mut results = Vec::new();
    for layer in &recording.layers {
        for dtype in DType::ALL {
            results.push((layer, dtype, normalize(gpu.as_ref(), layer, recording.eps, dtype)?));
        }
    }
    let members = family::run(gpu.as_ref(), &recording)?;
    let right = results.iter().all(|(_, _, done)| done.passed) && members.iter().all(family::Done::passed);
    if report.wants_text() {
        print(&results, gpu.is_some());
        family::print(&members, gpu.is_some());
    }
    let entry = |(layer, dtype, done): &(&Layer, DType, Done)| {
        json!({
            "layer": layer.name,
            "shape": layer.shape,
            "dtype": dtype.name(),
            "reference_ulp": done.reference_ulp,
            "recording_ulp": done.recording_ulp,
            "passed": done.passed,
            "seconds": done.seconds,
            "bytes": done.bytes,
        })
    };
    report.write(&json!({
        "adapter": device,
        "eps": number(recording.eps),
        "results": results.iter().map(entry).collect::<Vec<_>>(),
        "family": members.iter().map(family::Done::json).collect::<Vec<_>>(),
    }))?;
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::from(WRONG) })
}

fn print(results: &[(&Layer, DType, Done)], on_gpu: bool) {
    let headings = ["layer", "shape", "dtype", "ULP to reference", "ULP to recording", "time", "GB/s"];
    let mut rows = table::new(&headings, 3);
    for (layer, dtype, done) in results {
        rows.add_row([
            layer.name.clone(),
            format!("{} x {}", layer.shape[0], layer.shape[1]),
            dtype.to_string(),
            done.reference_ulp.map_or("-".into(), |ulp| format!("{ulp:.2}")),
            format!("{:.2}", done.recording_ulp),
            table::time(done.seconds),
            format!("{:.2}", done.bytes as f64 / done.seconds / 1e9),
        ]);
    }
    table::print(&rows);
    say!("\nULP: the largest distance, in units of the output's last place: to the float64 reference on the same operands,");
    say!("and to what Transformers computed in f32 from operands that were not rounded to f16 or bf16 first.");
    match on_gpu {
        true => say!("Time: one norm of {} in a submit. GB/s: input, weight and output, each once.", timing::BATCH),
        false => say!("Time: one norm on the CPU. GB/s: input, weight and output, each once."),
    }
    let wrong: Vec<_> = results
        .iter()
        .filter(|(_, _, done)| !done.passed)
        .map(|(layer, dtype, _)| format!("{} in {dtype}", layer.name))
        .collect();
    let against = if on_gpu { "within the error model" } else { "as recorded, within the error model" };
    match wrong.is_empty() {
        true => say!("{GOOD}All {} results are {against}.{GOOD:#}", results.len()),
        false => say!("{BAD}Beyond the error model:{BAD:#} {}", wrong.join(", ")),
    }
}

struct Done {
    /// None where the reference itself did the work.
    reference_ulp: Option<f64>,
    recording_ulp: f64,
    passed: bool,
    seconds: f64,
    bytes: u64,
}

fn normalize(gpu: Option<&Gpu>, layer: &Layer, eps: f32, dtype: DType) -> Result<Done, Failure> {
    let spec = NormSpec::llama(layer.shape[1], eps).dtype(dtype);
    let (input, weight) = (Values::round_from(dtype, &layer.input), Values::round_from(dtype, &layer.weight));
    let inputs = Inputs::new(&input).weight(&weight);
    let (output, seconds) = match gpu {
        Some(gpu) => {
            let norm = gpu.norm(spec)?;
            (block_on(norm.run_values(&inputs))?, timing::seconds(&norm, &inputs, layer.shape[0])?)
        }
        None => on_cpu(&spec, &inputs)?,
    };
    let outcome = verify::check(&spec, &inputs, output.as_slice())?;
    let distance = |(index, &recorded): (usize, &f64)| {
        let distance = (output.as_slice().get(index).unwrap_or(f64::NAN) - recorded).abs() / dtype.ulp(recorded);
        // A maximum would pass over a NaN.
        if distance.is_nan() { f64::INFINITY } else { distance }
    };
    let recording_ulp = layer.output.iter().enumerate().map(distance).fold(0.0, f64::max);
    Ok(Done {
        reference_ulp: gpu.map(|_| outcome.worst_ulp),
        recording_ulp,
        passed: outcome.passed() && recording_ulp <= MOST_ULP,
        seconds,
        bytes: (2 * input.as_slice().bytes().len() + weight.as_slice().bytes().len()) as u64,
    })
}

fn on_cpu(spec: &NormSpec, inputs: &Inputs<'_>) -> Result<(Values, f64), Failure> {
    let start = Instant::now();
    let truth = reference::norm(spec, inputs)?;
    Ok((Values::round_from(spec.output_dtype(), &truth), start.elapsed().as_secs_f64()))
}
