//! Host slices in, host values out.

use std::ops::Range;

use futures_intrusive::channel::shared::oneshot_channel;

use super::call::checked;
use super::device::Gpu;
use super::norm::Norm;
use super::operands::Operands;
use crate::dtype::DType;
use crate::error::{Detail, Error, Result};
use crate::inputs::Inputs;
use crate::outputs::Outputs;
use crate::plan::Force;
use crate::slot::{BySlot, Slot};
use crate::values::{Slice, Values};

/// What a buffer that is written and read back must be usable for.
const OUTPUT: wgpu::BufferUsages = wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_SRC);

/// The label of the buffers that results are read from.
const STAGING: &str = "read back";

/// Uploads the inputs, runs the norm and reads what it wrote, in batches of rows that fit the device's buffers.
pub(super) async fn run(norm: &Norm, inputs: &Inputs<'_>, force: Force) -> Result<Outputs> {
    let (gpu, spec) = (norm.gpu(), norm.spec());
    let rows = inputs.validate(spec)?;
    let row_bytes = |slot: Slot| spec.dtype_of(slot).map(|dtype| spec.dense_stride(slot) * dtype.size());
    let widest = Slot::ALL.into_iter().filter(|slot| slot.is_by_row()).filter_map(row_bytes).max().unwrap_or(1);
    let batch = (gpu.caps().max_buffer.saturating_sub(16) / widest).min(rows);
    if batch == 0 && rows > 0 {
        return Err(Error::Limit(Detail::new(
            "input",
            format!("rows that fit a buffer of {} bytes", gpu.caps().max_buffer),
            format!("{widest} bytes a row"),
            "shard the row, or open the device with the adapter's limits",
        )));
    }
    let mut channels: BySlot<wgpu::Buffer> = BySlot::default();
    for (slot, values) in inputs.iter().filter(|(slot, _)| !slot.is_by_row() && !slot.is_written()) {
        channels.set(slot, Some(upload(gpu, slot, values).await?));
    }
    let mut written: BySlot<Vec<u8>> = BySlot::default();
    // Sums over rows that go on from batch to batch are rounded once, at the end.
    let in_batches = batch < rows && spec.has_parameter_gradients();
    let first = if in_batches { gpu.norm(spec.parameter_gradients(DType::F32))? } else { norm.clone() };
    let next = if in_batches { gpu.norm(first.spec().accumulate())? } else { norm.clone() };
    let sums: Vec<_> = Slot::ALL.into_iter().filter(|slot| slot.is_parameter_gradient()).collect();
    for (slot, dtype) in sums.iter().filter_map(|slot| Some((*slot, first.spec().dtype_of(*slot)?))) {
        let buffer = match inputs.get(slot) {
            Some(values) => {
                let values = Values::round_from(dtype, &values.widen());
                filled_buffer(gpu.device(), slot.name(), OUTPUT, values.as_slice().bytes()).await?
            }
            None => empty_buffer(gpu, slot, spec.length_of(slot) * dtype.size()).await?,
        };
        channels.set(slot, Some(buffer));
    }
    for start in (0..rows).step_by(batch.max(1) as usize) {
        let rows = start..(start + batch).min(rows);
        let norm = if start == 0 { &first } else { &next };
        run_batch(norm, &inputs.rows(spec, rows.clone()), &channels, rows.end - rows.start, force, &mut written).await?;
    }
    for (slot, buffer) in channels.iter().filter(|(slot, _)| slot.is_parameter_gradient()) {
        let (Some(dtype), Some(rounded)) = (first.spec().dtype_of(slot), spec.dtype_of(slot)) else { continue };
        let mut sum = Vec::new();
        read_into(gpu, new_encoder(gpu).await?, buffer, 0..spec.length_of(slot) * dtype.size(), &mut sum).await?;
        let sum = Values::round_from(rounded, &Values::from_bytes(dtype, &sum).as_slice().widen());
        written.set(slot, Some(sum.as_slice().bytes().to_vec()));
    }
    let values = |slot: Slot| {
        let dtype = spec.dtype_of(slot)?;
        Some(Values::from_bytes(dtype, written.get(slot).map_or(&[], Vec::as_slice)))
    };
    let outputs = Outputs::new(Values::round_from(spec.output_dtype(), &[]));
    Ok(Slot::ALL.into_iter().filter(|slot| slot.is_written()).fold(outputs, |outputs, slot| outputs.with(slot, values(slot))))
}

async fn run_batch(
    norm: &Norm,
    inputs: &Inputs<'_>,
    channels: &BySlot<wgpu::Buffer>,
    rows: u64,
    force: Force,
    written: &mut BySlot<Vec<u8>>,
) -> Result<()> {
    let (gpu, spec) = (norm.gpu(), norm.spec());
    let mut buffers = channels.clone();
    for (slot, values) in inputs.iter().filter(|(slot, _)| slot.is_by_row()) {
        buffers.set(slot, Some(upload(gpu, slot, values).await?));
    }
    let outputs = Slot::ALL.into_iter().filter(|slot| slot.is_written() && slot.is_by_row());
    for (slot, dtype) in outputs.filter_map(|slot| Some((slot, spec.dtype_of(slot)?))) {
        buffers.set(slot, Some(empty_buffer(gpu, slot, rows * spec.dense_stride(slot) * dtype.size()).await?));
    }
    let (Some(input), Some(output)) = (buffers.get(Slot::Input), buffers.get(Slot::Output)) else { return Ok(()) };
    let operands = buffers.iter().fold(Operands::new(input, output), |all, (slot, buffer)| all.with(slot, buffer.into()));
    let prepared = norm.prepare_with(&operands, rows, force).await?;
    let mut encoder = new_encoder(gpu).await?;
    prepared.record_in(&mut encoder, rows)?;
    let mut encoder = Some(encoder);
    for (slot, buffer) in buffers.iter().filter(|(slot, _)| slot.is_written() && slot.is_by_row()) {
        let Some(dtype) = spec.dtype_of(slot) else { continue };
        // Behind the norm, and then behind what was submitted.
        let encoder = match encoder.take() {
            Some(encoder) => encoder,
            None => new_encoder(gpu).await?,
        };
        let stride = spec.dense_stride(slot) * dtype.size();
        let length = (spec.length_of(slot) * dtype.size()) as usize;
        let mut bytes = Vec::with_capacity((rows * stride) as usize);
        read_into(gpu, encoder, buffer, 0..rows * stride, &mut bytes).await?;
        let mut all = written.take(slot).unwrap_or_default();
        // Rows of codes are padded on the device; the caller gets them one behind the other.
        bytes.chunks_exact(stride.max(1) as usize).for_each(|row| all.extend_from_slice(&row[..length]));
        written.set(slot, Some(all));
    }
    Ok(())
}

async fn upload(gpu: &Gpu, slot: Slot, values: Slice<'_>) -> Result<wgpu::Buffer> {
    filled_buffer(gpu.device(), slot.name(), wgpu::BufferUsages::STORAGE, values.bytes()).await
}

async fn empty_buffer(gpu: &Gpu, slot: Slot, bytes: u64) -> Result<wgpu::Buffer> {
    let descriptor = wgpu::BufferDescriptor {
        label: Some(slot.name()),
        size: bytes.next_multiple_of(16).max(16),
        usage: OUTPUT,
        mapped_at_creation: false,
    };
    checked(gpu.device(), "create_buffer", || gpu.device().create_buffer(&descriptor)).await
}

pub(crate) async fn new_encoder(gpu: &Gpu) -> Result<wgpu::CommandEncoder> {
    let descriptor = wgpu::CommandEncoderDescriptor { label: Some("wgpu-rmsnorm") };
    checked(gpu.device(), "create_command_encoder", || gpu.device().create_command_encoder(&descriptor)).await
}

impl Gpu {
    /// Copies a range of a buffer to the host, after everything that was submitted before. It submits and waits: made for results
    /// and tests rather than for every step of an engine.
    ///
    /// ```no_run
    /// # async fn look(gpu: wgpu_rmsnorm::Gpu, normed: &wgpu::Buffer) -> wgpu_rmsnorm::Result<()> {
    /// use wgpu_rmsnorm::{DType, Values};
    ///
    /// let first_row = Values::from_bytes(DType::F16, &gpu.read(normed, 0..4096 * 2).await?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Buffer`] for a buffer without the usage `COPY_SRC`, a range that does not begin at a multiple of 4 bytes, or one
    /// that ends behind the buffer; those of the device.
    pub async fn read(&self, source: &wgpu::Buffer, range: Range<u64>) -> Result<Vec<u8>> {
        let refuse = |argument: &str, expected: String, actual: String, remedy: &str| {
            Err(Error::Buffer(Detail::new(argument, expected, actual, remedy)))
        };
        if !source.usage().contains(wgpu::BufferUsages::COPY_SRC) {
            let usage = format!("{:?}", source.usage());
            return refuse("source", "a buffer with usage COPY_SRC".into(), usage, "add the usage where the buffer is created");
        }
        // Copies come in whole words (case K6).
        let within = range.end.checked_next_multiple_of(4).is_some_and(|end| end <= source.size()) && range.start <= range.end;
        if !within || !range.start.is_multiple_of(4) {
            let expected = format!("a range of the buffer's {} bytes that begins at a multiple of 4", source.size());
            return refuse("range", expected, format!("{range:?}"), "read whole words, and pick from them");
        }
        let mut bytes = Vec::new();
        if !range.is_empty() {
            read_into(self, new_encoder(self).await?, source, range, &mut bytes).await?;
        }
        Ok(bytes)
    }

    /// [`Gpu::read`], waiting on this thread.
    ///
    /// # Errors
    /// Those of [`Gpu::read`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn read_blocking(&self, source: &wgpu::Buffer, range: Range<u64>) -> Result<Vec<u8>> {
        pollster::block_on(self.read(source, range))
    }
}

/// Submits the encoder with a copy of a range of `source` behind it, waits, and appends the bytes to `to`.
pub(crate) async fn read_into(
    gpu: &Gpu,
    mut encoder: wgpu::CommandEncoder,
    source: &wgpu::Buffer,
    range: Range<u64>,
    to: &mut Vec<u8>,
) -> Result<()> {
    let device = gpu.device();
    // Copies come in whole words (case K6); the buffer is padded, the caller gets the exact bytes.
    let bytes = range.end - range.start;
    let size = bytes.next_multiple_of(4);
    let descriptor = wgpu::BufferDescriptor {
        label: Some(STAGING),
        size,
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    };
    let staging = checked(device, "create_buffer", || device.create_buffer(&descriptor)).await?;
    let (sender, receiver) = oneshot_channel();
    let submitted = checked(device, "submit", || {
        encoder.copy_buffer_to_buffer(source, range.start, &staging, 0, size);
        let index = gpu.queue().submit([encoder.finish()]);
        staging.slice(..).map_async(wgpu::MapMode::Read, move |result| {
            // The receiver is gone only where the wait below gave up.
            let _ = sender.send(result);
        });
        index
    });
    // wgpu says nothing of a lost device when a buffer is created or commands are submitted: what it created is not valid, though.
    let index = submitted.await.map_err(|error| match error {
        Error::Wgpu { call, message } if message.contains(&format!("'{STAGING}' label is invalid")) => {
            Error::DeviceLost { call, message }
        }
        other => other,
    })?;
    #[cfg(not(target_arch = "wasm32"))]
    gpu.wait(index)?;
    // A browser waits by itself.
    #[cfg(target_arch = "wasm32")]
    let _ = index;
    let call = "map_async";
    let lost = |message: String| Error::DeviceLost { call, message };
    match receiver.receive().await {
        Some(Ok(())) => {}
        Some(Err(error)) => return Err(lost(error.to_string())),
        None => return Err(lost("the device dropped the request".into())),
    }
    let view = staging.slice(..).get_mapped_range().map_err(|e| lost(e.to_string()))?;
    to.extend_from_slice(&view[..bytes as usize]);
    drop(view);
    staging.unmap();
    Ok(())
}

/// A buffer with these contents, padded to 16 bytes. It is filled while it is mapped, so that no queue is needed.
pub(crate) async fn filled_buffer(
    device: &wgpu::Device,
    label: &str,
    usage: wgpu::BufferUsages,
    contents: &[u8],
) -> Result<wgpu::Buffer> {
    let size = (contents.len() as u64).next_multiple_of(16).max(16);
    let descriptor = wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: true };
    let buffer = checked(device, "create_buffer", || device.create_buffer(&descriptor)).await?;
    let lost = |message: String| Error::DeviceLost { call: "get_mapped_range_mut", message };
    buffer.slice(..).get_mapped_range_mut().map_err(|e| lost(e.to_string()))?.slice(..contents.len()).copy_from_slice(contents);
    buffer.unmap();
    Ok(buffer)
}
