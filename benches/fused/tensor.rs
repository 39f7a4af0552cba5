//! Rows on the device, made up.

use std::error::Error;

use wgpu_rmsnorm::wgpu::{self, util::DeviceExt};
use wgpu_rmsnorm::{DType, Gpu, Values};

/// Elements after which a tensor repeats itself: prime, so that no two rows of it are the same for long.
const PERIOD: u64 = 2003;

pub struct Tensor {
    pub buffer: wgpu::Buffer,
    pub dtype: DType,
    pub rows: u64,
    pub length: u64,
    /// What it holds at the start.
    start: Vec<u8>,
}

impl Tensor {
    /// Numbers of either sign, a tenth of `scale` to `scale` in size. `salt` makes tensors differ.
    pub fn new(gpu: &Gpu, dtype: DType, [rows, length]: [u64; 2], scale: f64, salt: u64) -> Self {
        let wave = |i: u64| {
            let k = (i * (7919 + 2 * salt) + salt) % PERIOD;
            let size = scale * (0.1 + 0.9 * k as f64 / PERIOD as f64);
            if k.is_multiple_of(2) { size } else { -size }
        };
        let pattern = Values::round_from(dtype, &(0..PERIOD).map(wave).collect::<Vec<_>>());
        let bytes = (rows * length * dtype.size()) as usize;
        let pattern = pattern.as_slice().bytes();
        let mut start = pattern.repeat(bytes.div_ceil(pattern.len()));
        start.truncate(bytes);
        let buffer = gpu.device().create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: Some("tensor"),
            contents: &start,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
        });
        Self { buffer, dtype, rows, length, start }
    }

    pub fn bytes(&self) -> u64 {
        self.rows * self.length * self.dtype.size()
    }

    /// Whether this is what it held at the start, to the bit.
    pub fn is_start(&self, now: &Values) -> bool {
        now.as_slice().bytes() == self.start
    }

    /// Puts back what it held at the start.
    pub fn reset(&self, gpu: &Gpu) {
        gpu.queue().write_buffer(&self.buffer, 0, &self.start);
    }

    pub fn read(&self, gpu: &Gpu) -> Result<Values, Box<dyn Error>> {
        Ok(Values::from_bytes(self.dtype, &gpu.read_blocking(&self.buffer, 0..self.bytes())?))
    }
}
