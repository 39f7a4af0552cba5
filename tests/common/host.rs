//! What the tests of the host layer share.

#![allow(dead_code, reason = "each test takes what it needs")]

use std::sync::OnceLock;

use wgpu_rmsnorm::verify::check;
use wgpu_rmsnorm::{DType, Gpu, GpuOptions, Inputs, NormSpec, Result, Values, adapters, wgpu};

/// Case M5: drivers have crashed when every test opened a device of its own. They share one an adapter.
pub fn gpus() -> &'static [Gpu] {
    static GPUS: OnceLock<Vec<Gpu>> = OnceLock::new();
    GPUS.get_or_init(|| {
        let found = pollster::block_on(adapters(false));
        let open = |adapter| pollster::block_on(Gpu::open(adapter, &GpuOptions::default())).unwrap();
        let gpus: Vec<Gpu> = found.iter().map(open).collect();
        assert!(!gpus.is_empty(), "no adapter: ./scripts/test installs software ones");
        gpus
    })
}

pub fn wave(count: u64, dtype: DType) -> Values {
    Values::round_from(dtype, &(0..count).map(|i| ((i * 7919) % 1013) as f64 / 300.0 - 1.7).collect::<Vec<_>>())
}

pub const USAGE: wgpu::BufferUsages =
    wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_DST).union(wgpu::BufferUsages::COPY_SRC);

pub fn buffer(gpu: &Gpu, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    gpu.device().create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
}

pub fn upload(gpu: &Gpu, values: &Values) -> wgpu::Buffer {
    let bytes = values.as_slice().bytes();
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(16).max(16), 0xff);
    let buffer = buffer(gpu, padded.len() as u64, USAGE);
    gpu.queue().write_buffer(&buffer, 0, &padded);
    buffer
}

pub fn run(gpu: &Gpu, spec: NormSpec, inputs: &Inputs<'_>) -> Result<Values> {
    pollster::block_on(gpu.norm(spec)?.run_values(inputs))
}

/// A device of the caller's own, with WebGPU's default limits and no feature, on the same adapter.
pub async fn open_default(like: &Gpu) -> Result<Gpu> {
    let adapter = adapters(false).await.into_iter().find(|a| a.info().name == like.info().name).unwrap();
    let (device, queue) = adapter.wgpu().request_device(&wgpu::DeviceDescriptor::default()).await.unwrap();
    Gpu::from_wgpu(device, queue).await
}

/// A good call, to be made after every bad one.
pub fn still_works(gpu: &Gpu) {
    let spec = NormSpec::torch(33, 1e-6).dtype(DType::F16);
    let (x, w) = (wave(33 * 5, DType::F16), wave(33, DType::F16));
    let inputs = Inputs::new(&x).weight(&w);
    assert!(check(&spec, &inputs, run(gpu, spec, &inputs).unwrap().as_slice()).unwrap().passed());
}
