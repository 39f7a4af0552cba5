//! What copying the same bytes costs on the same adapter: the floor under a norm.

use wgpu_rmsnorm::Gpu;
use wgpu_rmsnorm::wgpu::{self, CommandEncoder};

use super::clock::Clock;
use super::copy_kernels::{CopyKernel, CopyOf, KERNELS, LONG_KERNELS};
use crate::failure::Failure;

/// How often each is tried before one is chosen.
const TRIES: usize = 5;

/// A kernel that copies, bound to what it copies.
#[derive(Clone)]
pub struct Copy {
    pipeline: wgpu::ComputePipeline,
    bind_group: wgpu::BindGroup,
    workgroups: [u32; 2],
    /// Its accesses and its workgroup, in words.
    pub name: String,
}

/// The copies of as many bytes.
pub struct Copies {
    source: wgpu::Buffer,
    target: wgpu::Buffer,
    bytes: u64,
    /// The fastest kernel.
    pub best: Copy,
    /// The fastest that goes by 32-bit words, where the fastest of all does not.
    pub best_by_words: Option<Copy>,
}

impl Copies {
    /// Tries all kernels that can copy `bytes` and keeps the fastest.
    pub fn new(gpu: &Gpu, bytes: u64, clock: &mut Clock) -> Result<Self, Failure> {
        let bytes = copied(gpu, bytes);
        let [source, target] = buffers(gpu, bytes);
        let mut fastest = |kernels: &[CopyKernel]| {
            let mut best: Option<(f64, Copy)> = None;
            for kernel in kernels {
                let copy = Copy::new(gpu, &source, &target, kernel.of(bytes, gpu.caps().max_workgroups));
                let time = copy.fastest_of(TRIES, clock)?;
                if best.as_ref().is_none_or(|(before, _)| time < *before) {
                    best = Some((time, copy));
                }
            }
            Ok::<_, Failure>(best)
        };
        let by_words = fastest(&KERNELS)?;
        let by_long_words = if gpu.caps().long_words { fastest(&LONG_KERNELS)? } else { None };
        let (best, best_by_words) = match (by_words, by_long_words) {
            (Some(words), Some(long)) if long.0 < words.0 => (long.1, Some(words.1)),
            (Some(words), _) => (words.1, None),
            (None, _) => return Err(Failure::new("no kernel copies", "report the driver")),
        };
        Ok(Self { source, target, bytes, best, best_by_words })
    }

    /// Whether this is what [`Copies::new`] would make.
    pub fn is_for(&self, gpu: &Gpu, bytes: u64) -> bool {
        self.bytes == copied(gpu, bytes)
    }

    /// Bytes read and written.
    pub fn traffic(&self) -> u64 {
        2 * self.bytes
    }

    /// The fastest kernel, bound to buffers of its own.
    pub fn best_elsewhere(&self, gpu: &Gpu) -> Copy {
        let [source, target] = buffers(gpu, self.bytes);
        let bind_group = bind_group(gpu, &self.best.pipeline, &source, &target);
        Copy { bind_group, ..self.best.clone() }
    }

    /// wgpu's own copy of the same bytes.
    pub fn record_plain(&self, encoder: &mut CommandEncoder) {
        encoder.copy_buffer_to_buffer(&self.source, 0, &self.target, 0, self.bytes);
    }
}

/// What is copied for so many bytes: whole vectors, and no more than can be bound.
fn copied(gpu: &Gpu, bytes: u64) -> u64 {
    bytes.next_multiple_of(16).min(gpu.caps().max_binding / 16 * 16)
}

/// A source, filled, and a target.
fn buffers(gpu: &Gpu, bytes: u64) -> [wgpu::Buffer; 2] {
    let buffer = |usage| {
        gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: Some("copy"),
            size: bytes,
            usage: wgpu::BufferUsages::STORAGE | usage,
            mapped_at_creation: false,
        })
    };
    let source = buffer(wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST);
    let target = buffer(wgpu::BufferUsages::COPY_DST);
    // Pages that nobody wrote may all be one page.
    gpu.queue().write_buffer(&source, 0, &vec![0x3f; bytes as usize]);
    [source, target]
}

fn bind_group(gpu: &Gpu, pipeline: &wgpu::ComputePipeline, source: &wgpu::Buffer, target: &wgpu::Buffer) -> wgpu::BindGroup {
    let entries = [(0, source), (1, target)]
        .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() });
    gpu.device().create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("copy"),
        layout: &pipeline.get_bind_group_layout(0),
        entries: &entries,
    })
}

impl Copy {
    /// The least of so many times.
    fn fastest_of(&self, tries: usize, clock: &mut Clock) -> Result<f64, Failure> {
        let mut fastest = f64::INFINITY;
        for _ in 0..tries {
            let time = clock.time(|encoder| {
                self.record(encoder);
                Ok(())
            })?;
            fastest = fastest.min(time.work.unwrap_or(f64::INFINITY));
        }
        Ok(fastest)
    }

    fn new(gpu: &Gpu, source: &wgpu::Buffer, target: &wgpu::Buffer, CopyOf { wgsl, workgroups, name }: CopyOf) -> Self {
        let device = gpu.device();
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("copy"),
            source: wgpu::ShaderSource::Wgsl(wgsl.into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("copy"),
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let bind_group = bind_group(gpu, &pipeline, source, target);
        Self { pipeline, bind_group, workgroups, name }
    }

    pub fn record(&self, encoder: &mut CommandEncoder) {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        self.record_in(&mut pass);
    }

    pub fn record_in(&self, pass: &mut wgpu::ComputePass<'_>) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.bind_group, &[]);
        pass.dispatch_workgroups(self.workgroups[0], self.workgroups[1], 1);
    }
}
