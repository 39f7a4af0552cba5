//! What copying the same bytes costs: the floor under a norm.

use wgpu_rmsnorm::{Gpu, wgpu};

use crate::clock::Clock;
use crate::copy_kernels::{CopyOf, KERNELS};
use crate::error::Result;
use crate::written;

/// How often each kernel is tried before one is chosen.
const TRIES: usize = 3;
/// What is copied: pages that nobody wrote may all be one page.
const SOURCE: u8 = 0x3f;

/// A kernel that copies, bound to what it copies.
#[derive(Clone)]
pub struct Copy {
    pipeline: wgpu::ComputePipeline,
    bind_group: wgpu::BindGroup,
    to: wgpu::Buffer,
    workgroups: [u32; 2],
    /// Its accesses and its workgroup, in words.
    pub name: String,
    /// Bytes read and written.
    pub traffic: u64,
}

impl Copy {
    /// The fastest kernel for so much traffic, or for as much as can be bound.
    pub async fn fastest(gpu: &Gpu, traffic: u64, clock: &Clock) -> Result<Option<Self>> {
        let bytes = (traffic / 2).next_multiple_of(16).min(gpu.caps().max_binding / 16 * 16);
        let buffers = [wgpu::BufferUsages::COPY_DST, wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC].map(|usage| {
            gpu.device().create_buffer(&wgpu::BufferDescriptor {
                label: Some("copy"),
                size: bytes,
                usage: wgpu::BufferUsages::STORAGE | usage,
                mapped_at_creation: false,
            })
        });
        gpu.queue().write_buffer(&buffers[0], 0, &vec![SOURCE; bytes as usize]);
        let mut fastest: Option<(f64, Self)> = None;
        for kernel in &KERNELS {
            let copy = Self::new(gpu, &buffers, kernel.of(bytes, gpu.caps().max_workgroups), 2 * bytes);
            for _ in 0..TRIES {
                let time = clock
                    .time(|pass| {
                        copy.record(pass);
                        Ok(())
                    })
                    .await?
                    .whole;
                if fastest.as_ref().is_none_or(|(before, _)| time < *before) {
                    fastest = Some((time, copy.clone()));
                }
            }
        }
        // What the others wrote shall not count as the fastest one's.
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        encoder.clear_buffer(&buffers[1], 0, None);
        gpu.queue().submit([encoder.finish()]);
        Ok(fastest.map(|(_, copy)| copy))
    }

    /// Checks that all was copied.
    pub async fn check(&self, gpu: &Gpu) -> Result<()> {
        written::check(gpu, "copy", &self.to, self.to.size(), 4, 0).await
    }

    fn new(gpu: &Gpu, buffers: &[wgpu::Buffer; 2], CopyOf { wgsl, workgroups, name }: CopyOf, traffic: u64) -> Self {
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
        let entries =
            [0, 1].map(|binding| wgpu::BindGroupEntry { binding, resource: buffers[binding as usize].as_entire_binding() });
        let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("copy"),
            layout: &pipeline.get_bind_group_layout(0),
            entries: &entries,
        });
        Self { pipeline, bind_group, to: buffers[1].clone(), workgroups, name, traffic }
    }

    /// Records one copy.
    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>) {
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.bind_group, &[]);
        pass.dispatch_workgroups(self.workgroups[0], self.workgroups[1], 1);
    }
}
