//! How long a norm takes.

use std::time::Instant;

use wgpu_rmsnorm::wgpu::{Buffer, BufferDescriptor, BufferUsages};
use wgpu_rmsnorm::{Inputs, Norm, Operands};

use crate::failure::Failure;

/// Norms that are timed together, and how often.
pub const BATCH: u32 = 32;
const REPEATS: usize = 7;

/// The seconds that one norm takes when [`BATCH`] of them are recorded in one submit: the median of several submits.
pub fn seconds(norm: &Norm, inputs: &Inputs<'_>, rows: u64) -> Result<f64, Failure> {
    let gpu = norm.gpu();
    let empty = |bytes: u64| -> Buffer {
        gpu.device().create_buffer(&BufferDescriptor {
            label: Some("timing"),
            size: bytes.next_multiple_of(16),
            usage: BufferUsages::STORAGE | BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    };
    let filled = |bytes: &[u8]| {
        let buffer = empty(bytes.len() as u64);
        // Copies come in whole words.
        let mut words = bytes.to_vec();
        words.resize(bytes.len().next_multiple_of(4), 0);
        gpu.queue().write_buffer(&buffer, 0, &words);
        buffer
    };
    let input = filled(inputs.input.bytes());
    let output = empty(rows * norm.spec().hidden * norm.spec().output_dtype().size());
    let weight = inputs.weight.map(|weight| filled(weight.bytes()));
    let mut operands = Operands::new(&input, &output);
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
    Ok(times[REPEATS / 2])
}
