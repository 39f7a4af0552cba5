//! A model's norms from its checkpoint: the weights go to the GPU once, and many tokens pass.
//!
//! ```sh
//! cargo run --release --example checkpoint [FOLDER EPS]
//! ```
//!
//! FOLDER holds a `model.safetensors` with Llama's names, and EPS is the `rms_norm_eps` of its `config.json`. Left out, they are
//! those of the tiny Llama beside this file.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use safetensors::{Dtype, SafeTensors};
use wgpu_rmsnorm::wgpu::{self, util::DeviceExt};
use wgpu_rmsnorm::{DType, Gpu, Inputs, NormSpec, Operand, Operands, Prepared, Values, verify};

/// Tokens that pass at a time.
const ROWS: u64 = 16;
const STEPS: u32 = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().unwrap_or(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/tiny-llama").into());
    let eps: f32 = arguments.next().map_or(Ok(1e-5), |eps| eps.parse())?;
    let file = std::fs::read(Path::new(&folder).join("model.safetensors"))?;
    let tensors = SafeTensors::deserialize(&file)?;

    // Llama's norms are the vectors whose names end so. (`wgpu-rmsnorm check-model` knows other families.)
    let is_norm = |name: &&str| name.ends_with("layernorm.weight") || name.ends_with("model.norm.weight");
    let mut names: Vec<&str> = tensors.names().into_iter().filter(is_norm).collect();
    names.sort();
    let first = tensors.tensor(names.first().ok_or("this checkpoint has no norms of these names")?)?;
    let hidden = first.shape()[0] as u64;
    let dtype = match first.dtype() {
        Dtype::F16 => DType::F16,
        Dtype::BF16 => DType::BF16,
        Dtype::F32 => DType::F32,
        other => return Err(format!("norms of {other:?} are not read").into()),
    };

    // All weights go into one buffer, one behind the other. Offsets need no alignment but the elements' own, and the bytes of
    // the file are the bytes of the buffer: nothing is converted.
    let mut bytes = Vec::new();
    let mut offsets = Vec::new();
    for name in &names {
        offsets.push(bytes.len() as u64);
        bytes.extend_from_slice(tensors.tensor(name)?.data());
    }
    let gpu = Gpu::new_blocking()?;
    let device = gpu.device();
    let weights = device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
        label: Some("norm weights"),
        contents: &bytes,
        usage: wgpu::BufferUsages::STORAGE,
    });

    // The residual stream of up to 16 tokens, and what the norms write. Everything is checked and compiled here, once.
    let stream = storage(device, ROWS * hidden * dtype.size());
    let normed = storage(device, ROWS * hidden * dtype.size());
    let norm = gpu.norm(NormSpec::llama(hidden, eps).dtype(dtype))?;
    let prepare = |&offset: &u64| -> wgpu_rmsnorm::Result<Prepared> {
        let operands = Operands::new(&stream, &normed).weight(Operand::new(&weights).offset(offset));
        norm.prepare_blocking(&operands, ROWS)
    };
    let norms = offsets.iter().map(prepare).collect::<Result<Vec<_>, _>>()?;

    // Token after token. In a model, attention and the feed-forward network stand between the norms, in the same encoder.
    let mut time = Duration::ZERO;
    for step in 0..STEPS {
        let rows = u64::from(step) % ROWS + 1;
        gpu.queue().write_buffer(&stream, 0, tokens(dtype, step, rows * hidden).as_slice().bytes());
        let start = Instant::now();
        let mut encoder = device.create_command_encoder(&Default::default());
        for norm in &norms {
            norm.record_in(&mut encoder, rows)?;
        }
        let index = gpu.queue().submit([encoder.finish()]);
        gpu.wait(index)?;
        time += start.elapsed();
    }
    let each = time.as_secs_f64() / f64::from(STEPS) / norms.len() as f64;

    println!("{} norms of {hidden} channels ({dtype}), {} KiB of weights uploaded once", norms.len(), bytes.len() >> 10);
    println!("{STEPS} steps of 1 to {ROWS} tokens: {:.0} µs a norm", each * 1e6);

    // What the last norm wrote for the first token of the last step, beside the CPU reference.
    let size = hidden * dtype.size();
    let y = Values::from_bytes(dtype, &gpu.read_blocking(&normed, 0..size)?);
    let x = tokens(dtype, STEPS - 1, hidden);
    let weight = Values::from_bytes(dtype, &bytes[bytes.len() - size as usize..]);
    let outcome = verify::check(norm.spec(), &Inputs::new(&x).weight(&weight), y.as_slice())?;
    println!("Within {:.3} ULP of the float64 reference", outcome.worst_ulp);
    if outcome.passed() { Ok(()) } else { Err(format!("wrong: {outcome:?}").into()) }
}

fn storage(device: &wgpu::Device, size: u64) -> wgpu::Buffer {
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
    device.create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
}

/// Stands in for what the model has computed so far.
fn tokens(dtype: DType, step: u32, count: u64) -> Values {
    let wave = |i: u64| (((i + u64::from(step)) * 7919 % 2003) as f64 / 1001.0 - 1.0) * 3.0;
    Values::round_from(dtype, &(0..count).map(wave).collect::<Vec<_>>())
}
