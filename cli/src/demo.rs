//! The main job on real input.

use std::process::ExitCode;
use std::time::Instant;

use wgpu_rmsnorm::{Adapter, DType, Gpu, GpuOptions, Inputs, NormSpec, Operands, Values, reference, verify};

use crate::activations::{self, Layer};
use crate::output::say;
use crate::{Failure, no_adapter, table};

/// Norms that are timed together, and how often.
const BATCH: u32 = 32;
const REPEATS: usize = 7;

/// The largest distance to the recording that is right: two f32 computations, each within 4 ULP of the truth; in half
/// precision the operands are rounded too, each by half an ULP, and the result.
const MOST_ULP: f64 = 8.0;

/// Normalises every recorded input and prints one table.
pub fn run(adapters: &[Adapter]) -> Result<ExitCode, Failure> {
    let recording = activations::read()?;
    let gpu = match adapters.first() {
        Some(adapter) => Some(pollster::block_on(Gpu::open(adapter, &GpuOptions::default()))?),
        None => {
            say!("{}.\nThe CPU reference does the work instead.\n", no_adapter());
            None
        }
    };
    say!("The RMSNorms of a small Llama on the prompt {:?}, eps {:e}", recording.prompt, recording.eps);
    match adapters.first() {
        Some(adapter) => say!("Adapter  {adapter}\n"),
        None => say!("Adapter  none: float64 on the CPU\n"),
    }
    let headings = ["layer", "shape", "dtype", "ULP to reference", "ULP to recording", "time", "GB/s"];
    let mut rows = table::new(&headings, 3);
    let mut wrong = Vec::new();
    for layer in &recording.layers {
        for dtype in DType::ALL {
            let result = normalize(gpu.as_ref(), layer, recording.eps, dtype)?;
            if !result.passed {
                wrong.push(format!("{} in {dtype}", layer.name));
            }
            rows.add_row([
                layer.name.clone(),
                format!("{} x {}", layer.shape[0], layer.shape[1]),
                dtype.to_string(),
                result.reference_ulp.map_or("-".into(), |ulp| format!("{ulp:.2}")),
                format!("{:.2}", result.recording_ulp),
                table::time(result.seconds),
                format!("{:.2}", result.bytes as f64 / result.seconds / 1e9),
            ]);
        }
    }
    table::print(&rows);
    say!("\nULP: the largest distance, in units of the output's last place: to the float64 reference on the same operands,");
    say!("and to what Transformers computed in f32 from operands that were not rounded to f16 or bf16 first.");
    match gpu {
        Some(_) => say!("Time: one norm of {BATCH} in a submit. GB/s: input, weight and output, each once."),
        None => say!("Time: one norm on the CPU. GB/s: input, weight and output, each once."),
    }
    if wrong.is_empty() {
        let against = if gpu.is_some() { "within the error model" } else { "as recorded, within the error model" };
        say!("All {} results are {against}.", recording.layers.len() * DType::ALL.len());
        Ok(ExitCode::SUCCESS)
    } else {
        say!("Beyond the error model: {}", wrong.join(", "));
        Ok(ExitCode::FAILURE)
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
        Some(gpu) => on_gpu(gpu, spec, &inputs, layer.shape[0])?,
        None => on_cpu(&spec, &inputs)?,
    };
    let outcome = verify::check(&spec, &inputs, output.as_slice())?;
    let distance = |(index, &recorded): (usize, &f64)| {
        (output.as_slice().get(index).unwrap_or(f64::NAN) - recorded).abs() / dtype.ulp(recorded)
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
    let truth = reference::rms_norm(spec, inputs)?;
    Ok((Values::round_from(spec.output_dtype(), &truth), start.elapsed().as_secs_f64()))
}

/// The result, and the seconds that one norm takes when many are recorded in one submit.
fn on_gpu(gpu: &Gpu, spec: NormSpec, inputs: &Inputs<'_>, rows: u64) -> Result<(Values, f64), Failure> {
    let norm = gpu.norm(spec)?;
    let output = pollster::block_on(norm.run_values(inputs))?;

    let buffer = |bytes: &[u8]| {
        let buffer = gpu.device().create_buffer(&wgpu_rmsnorm::wgpu::BufferDescriptor {
            label: Some("demo"),
            size: (bytes.len() as u64).next_multiple_of(16),
            usage: wgpu_rmsnorm::wgpu::BufferUsages::STORAGE | wgpu_rmsnorm::wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        gpu.queue().write_buffer(&buffer, 0, bytes);
        buffer
    };
    let (input, result) = (buffer(inputs.input.bytes()), buffer(inputs.input.bytes()));
    let weight = inputs.weight.map(|w| buffer(w.bytes()));
    let mut operands = Operands::new(&input, &result);
    operands.weight = weight.as_ref().map(Into::into);
    let prepared = norm.prepare_blocking(&operands, rows)?;
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        for _ in 0..BATCH {
            prepared.record_in(&mut encoder, rows)?;
        }
        let start = Instant::now();
        let index = gpu.queue().submit([encoder.finish()]);
        gpu.wait(index)?;
        times.push(start.elapsed().as_secs_f64() / f64::from(BATCH));
    }
    times.sort_by(f64::total_cmp);
    Ok((output, times[REPEATS / 2]))
}
