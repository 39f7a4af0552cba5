//! How long a norm takes.

use std::time::Instant;

use wgpu_rmsnorm::wgpu::{Buffer, BufferDescriptor, BufferUsages};
use wgpu_rmsnorm::{BySlot, Inputs, Norm, Operands, Slot};

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
    let spec = norm.spec();
    let mut buffers = BySlot::default();
    for slot in Slot::ALL {
        let Some(dtype) = spec.dtype_of(slot) else { continue };
        let buffer = match inputs.get(slot) {
            Some(values) => filled(values.bytes()),
            None => empty(rows * spec.dense_stride(slot) * dtype.size()),
        };
        buffers.set(slot, Some(buffer));
    }
    let (Some(input), Some(output)) = (buffers.get(Slot::Input), buffers.get(Slot::Output)) else { return Ok(0.0) };
    let operands = buffers.iter().fold(Operands::new(input, output), |all, (slot, buffer)| all.with(slot, buffer.into()));
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
