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
use crate::values::{Slice, Values};

/// Uploads the inputs, runs the norm and reads what it wrote, in batches of rows that fit the device's buffers.
pub(super) async fn run(norm: &Norm, inputs: &Inputs<'_>, force: Force) -> Result<Outputs> {
    let (gpu, spec) = (norm.gpu(), norm.spec());
    let rows = inputs.validate(spec)?;
    let output_dtype = spec.output_dtype();
    let (residual_dtype, sum_dtype) = (spec.residual_dtype(), spec.residual_out_dtype());
    let row = |dtype: DType| spec.hidden * dtype.size();
    let widest = [Some(spec.input), Some(output_dtype), residual_dtype].into_iter().flatten().map(row).max().unwrap_or(1);
    let batch = (gpu.caps().max_buffer.saturating_sub(16) / widest).min(rows);
    if batch == 0 && rows > 0 {
        return Err(Error::Limit(Detail::new(
            "input",
            format!("rows that fit a buffer of {} bytes", gpu.caps().max_buffer),
            format!("{widest} bytes a row"),
            "shard the row, or open the device with the adapter's limits",
        )));
    }
    let weight = upload_some(gpu, "weight", inputs.weight).await?;
    let bias = upload_some(gpu, "bias", inputs.bias).await?;
    let mut output_bytes = Vec::with_capacity((rows * row(output_dtype)) as usize);
    let mut sum_bytes = Vec::new();
    for first in (0..rows).step_by(batch.max(1) as usize) {
        let rows = batch.min(rows - first);
        let part = |values: Slice<'_>| {
            let size = row(values.dtype());
            values.bytes()[(first * size) as usize..((first + rows) * size) as usize].to_vec()
        };
        let usage = wgpu::BufferUsages::STORAGE;
        let input = filled_buffer(gpu.device(), "input", usage, &part(inputs.input)).await?;
        let output = empty_buffer(gpu, rows * row(output_dtype)).await?;
        let mut operands = Operands::new(&input, &output);
        operands.weight = weight.as_ref().map(Into::into);
        operands.bias = bias.as_ref().map(Into::into);
        let residual = match inputs.residual {
            None => None,
            Some(values) => {
                let usage = usage | wgpu::BufferUsages::COPY_SRC;
                Some(filled_buffer(gpu.device(), "residual", usage, &part(values)).await?)
            }
        };
        if let Some(residual) = &residual {
            operands = if spec.adds_after() { operands.then_add(residual) } else { operands.residual_in_place(residual) };
        }
        let prepared = norm.prepare_with(&operands, rows, force).await?;
        let mut encoder = new_encoder(gpu).await?;
        prepared.record_in(&mut encoder, rows)?;
        read_into(gpu, encoder, &output, 0..rows * row(output_dtype), &mut output_bytes).await?;
        if let (Some(residual), Some(dtype)) = (&residual, sum_dtype) {
            read_into(gpu, new_encoder(gpu).await?, residual, 0..rows * row(dtype), &mut sum_bytes).await?;
        }
    }
    let residual_out = sum_dtype.map(|dtype| Values::from_bytes(dtype, &sum_bytes));
    Ok(Outputs::new(Values::from_bytes(output_dtype, &output_bytes)).residual_out(residual_out))
}

async fn upload_some(gpu: &Gpu, label: &str, values: Option<Slice<'_>>) -> Result<Option<wgpu::Buffer>> {
    match values {
        None => Ok(None),
        Some(values) => filled_buffer(gpu.device(), label, wgpu::BufferUsages::STORAGE, values.bytes()).await.map(Some),
    }
}

async fn empty_buffer(gpu: &Gpu, bytes: u64) -> Result<wgpu::Buffer> {
    let descriptor = wgpu::BufferDescriptor {
        label: Some("output"),
        size: bytes.next_multiple_of(16),
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
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
        label: Some("read back"),
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
    let index = submitted.await?;
    #[cfg(not(target_arch = "wasm32"))]
    gpu.wait(index)?;
    // A browser waits by itself.
    #[cfg(target_arch = "wasm32")]
    drop(index);
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
