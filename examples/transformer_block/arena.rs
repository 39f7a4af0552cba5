//! A buffer in which many tensors lie, and views of them.

use std::ops::Range;

use wgpu_rmsnorm::wgpu::{self, util::DeviceExt};
use wgpu_rmsnorm::{DType, Gpu, Operand, Values};

/// Rows of a tensor, or some columns of them, in a buffer.
#[derive(Debug, Clone, Copy)]
pub struct View {
    pub dtype: DType,
    /// The first byte.
    offset: u64,
    /// Elements from one row to the next, and elements of a row.
    row_stride: u64,
    pub length: u64,
}

impl View {
    /// Some of the columns. Nothing moves.
    pub fn columns(self, first: u64, length: u64) -> Self {
        Self { offset: self.offset + first * self.dtype.size(), length, ..self }
    }

    pub fn operand(self, buffer: &wgpu::Buffer) -> Operand<'_> {
        Operand::new(buffer).offset(self.offset).row_stride(self.row_stride)
    }

    /// The bytes of some rows, one row after the other, out of all those of the buffer.
    pub fn bytes(self, all: &[u8], rows: Range<u64>) -> Vec<u8> {
        let size = self.dtype.size();
        let start = |row: u64| (self.offset + row * self.row_stride * size) as usize;
        rows.flat_map(|row| &all[start(row)..][..(self.length * size) as usize]).copied().collect()
    }

    pub fn values(self, all: &[u8], rows: u64) -> Values {
        Values::from_bytes(self.dtype, &self.bytes(all, 0..rows))
    }
}

/// What a buffer holds from the start.
#[derive(Default)]
pub struct Contents {
    pub bytes: Vec<u8>,
    tensors: Vec<View>,
}

impl Contents {
    /// Appends a tensor, made up: numbers up to `scale` in size, and around 1 for a single row, which is a weight.
    pub fn rows(&mut self, dtype: DType, rows: u64, length: u64, scale: f64) -> View {
        let view = View { dtype, offset: self.bytes.len() as u64, row_stride: length, length };
        let (shift, middle) = (self.tensors.len() as u64 * 31, if rows == 1 { 1.0 } else { 0.0 });
        let wave = |i: u64| middle + scale * (((i + shift) * 7919 % 2003) as f64 / 1001.0 - 1.0);
        let values = Values::round_from(dtype, &(0..rows * length).map(wave).collect::<Vec<_>>());
        self.bytes.extend_from_slice(values.as_slice().bytes());
        self.tensors.push(view);
        view
    }

    /// All tensors.
    pub fn views(&self) -> impl Iterator<Item = View> {
        self.tensors.iter().copied()
    }

    pub fn upload(&self, gpu: &Gpu, label: &str) -> wgpu::Buffer {
        gpu.device().create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: Some(label),
            contents: &self.bytes,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
        })
    }
}
