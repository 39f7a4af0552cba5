//! What either norm makes of one recorded input, and how long it takes.

use std::error::Error;
use std::time::Instant;

use wgpu_rmsnorm::wgpu::{self, util::DeviceExt};
use wgpu_rmsnorm::{Gpu, Inputs, NormSpec, Operands, Prepared, Slot, verify};

use super::recording::Layer;

/// Norms that are timed together, and how often.
pub const BATCH: u32 = 32;
const REPEATS: usize = 7;

/// One norm of the model, both ways.
pub struct Measured {
    pub name: String,
    pub shape: [usize; 2],
    /// RMSNorm and LayerNorm.
    pub sides: [Side; 2],
    /// The mean absolute difference of the two results.
    pub difference: f64,
}

pub struct Side {
    /// Of the result's rows, the mean: of their RMS, and of the sizes of their means.
    pub rms: f64,
    pub mean: f64,
    pub parameters: u64,
    pub bytes: u64,
    pub seconds: f64,
    pub worst_ulp: f64,
    /// The rows before the weight, and the mean of each.
    pub plain: Vec<f32>,
    pub plain_means: Vec<f64>,
}

pub fn measure(gpu: &Gpu, layer: &Layer, eps: f32) -> Result<Measured, Box<dyn Error>> {
    let [rows, hidden] = layer.shape;
    let zeros = vec![0f32; hidden];
    let specs = super::both(hidden as u64, eps);
    let inputs = specs.map(|spec| {
        let inputs = Inputs::new(&layer.input).weight(&layer.weight);
        if spec.bias.is_some() { inputs.bias(&zeros) } else { inputs }
    });
    let prepared = [prepare(gpu, specs[0], &inputs[0])?, prepare(gpu, specs[1], &inputs[1])?];
    let seconds = time(gpu, &prepared, rows as u64)?;

    let mut outputs = Vec::new();
    let mut side = |index: usize| -> Result<Side, Box<dyn Error>> {
        let (spec, plan) = (specs[index], prepared[index].plan());
        let (output, worst_ulp) = normalize(gpu, spec, &inputs[index])?;
        let (plain, _) = normalize(gpu, spec.without_weight().without_bias(), &Inputs::new(&layer.input))?;
        let mean_of = |of: fn(&[f32]) -> f64| output.chunks_exact(hidden).map(of).sum::<f64>() / rows as f64;
        let side = Side {
            rms: mean_of(|row| mean(row.iter().map(|&y| f64::from(y).powi(2))).sqrt()),
            mean: mean_of(|row| mean_of_row(row).abs()),
            parameters: [Slot::Weight, Slot::Bias].iter().filter(|&&slot| spec.dtype_of(slot).is_some()).count() as u64
                * spec.hidden,
            bytes: plan.bytes(rows as u64),
            seconds: seconds[index],
            worst_ulp,
            plain_means: plain.chunks_exact(hidden).map(mean_of_row).collect(),
            plain,
        };
        outputs.push(output);
        Ok(side)
    };
    let sides = [side(0)?, side(1)?];
    let difference = mean(outputs[0].iter().zip(&outputs[1]).map(|(a, b)| f64::from(a - b).abs()));
    Ok(Measured { name: layer.name.clone(), shape: layer.shape, sides, difference })
}

/// The result, checked, and its largest distance from the reference.
pub fn normalize(gpu: &Gpu, spec: NormSpec, inputs: &Inputs<'_>) -> Result<(Vec<f32>, f64), Box<dyn Error>> {
    let outputs = gpu.norm(spec)?.run_all_blocking(inputs)?;
    let outcome = verify::check_all(&spec, inputs, &outputs)?;
    if !outcome.passed() {
        return Err(format!("{} is wrong: {outcome:?}", spec.operation()).into());
    }
    Ok((outputs.into_output().into_vec()?, outcome.worst_ulp))
}

fn prepare(gpu: &Gpu, spec: NormSpec, inputs: &Inputs<'_>) -> Result<Prepared, Box<dyn Error>> {
    let device = gpu.device();
    let usage = wgpu::BufferUsages::STORAGE;
    let filled = |slot: Slot| {
        let contents = inputs.get(slot)?.bytes();
        Some(device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: Some(slot.name()), contents, usage }))
    };
    let size = inputs.input().bytes().len() as u64;
    let output = device.create_buffer(&wgpu::BufferDescriptor { label: Some("output"), size, usage, mapped_at_creation: false });
    let input = filled(Slot::Input).ok_or("no input")?;
    let channels = [Slot::Weight, Slot::Bias].map(|slot| (slot, filled(slot)));
    let mut operands = Operands::new(&input, &output);
    for (slot, buffer) in &channels {
        if let Some(buffer) = buffer {
            operands = operands.with(*slot, buffer.into());
        }
    }
    Ok(gpu.norm(spec)?.prepare_blocking(&operands, inputs.validate(&spec)?)?)
}

/// The seconds that one norm takes of [`BATCH`] in a submit: the median of several submits. The two take turns, so that whatever
/// else the machine does meets both.
fn time(gpu: &Gpu, norms: &[Prepared; 2], rows: u64) -> Result<[f64; 2], Box<dyn Error>> {
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..REPEATS {
        for (norm, times) in norms.iter().zip(&mut times) {
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            for _ in 0..BATCH {
                norm.record_in(&mut encoder, rows)?;
            }
            let start = Instant::now();
            let index = gpu.queue().submit([encoder.finish()]);
            gpu.wait(index)?;
            times.push(start.elapsed().as_secs_f64() / f64::from(BATCH));
        }
    }
    Ok(times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[REPEATS / 2]
    }))
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

fn mean_of_row(row: &[f32]) -> f64 {
    mean(row.iter().map(|&y| f64::from(y)))
}
