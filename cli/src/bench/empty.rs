//! Dispatches of a kernel that does nothing: what wgpu and the driver take for as many norms, whatever these compute.

use wgpu_rmsnorm::Gpu;
use wgpu_rmsnorm::wgpu::{self, ComputePass};

use super::work::Work;

/// A kernel that does nothing, bound to the buffers of norms: to those of each in turn.
pub struct Empty {
    pipeline: wgpu::ComputePipeline,
    bind_groups: Vec<wgpu::BindGroup>,
}

impl Empty {
    pub fn new(gpu: &Gpu, works: &[Work]) -> Self {
        let device = gpu.device();
        let buffers = works.first().map_or(0, |work| work.buffers().count());
        let entries: Vec<_> = (0..buffers as u32)
            .map(|binding| wgpu::BindGroupLayoutEntry {
                binding,
                visibility: wgpu::ShaderStages::COMPUTE,
                ty: wgpu::BindingType::Buffer {
                    // As a norm's output is bound, so that what is dispatched next has to wait alike.
                    ty: wgpu::BufferBindingType::Storage { read_only: false },
                    has_dynamic_offset: false,
                    min_binding_size: None,
                },
                count: None,
            })
            .collect();
        let layout =
            device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some("empty"), entries: &entries });
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("empty"),
            source: wgpu::ShaderSource::Wgsl("@compute @workgroup_size(1) fn main() {}".into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("empty"),
            layout: Some(&device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label: Some("empty"),
                bind_group_layouts: &[Some(&layout)],
                immediate_size: 0,
            })),
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let bound = |work: &Work| {
            let entries: Vec<_> = work
                .buffers()
                .zip(0..)
                .map(|(buffer, binding)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
                .collect();
            device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some("empty"), layout: &layout, entries: &entries })
        };
        let bind_groups = works.iter().map(bound).collect();
        Self { pipeline, bind_groups }
    }

    /// One dispatch for each norm.
    pub fn record(&self, pass: &mut ComputePass<'_>) {
        for bind_group in &self.bind_groups {
            pass.set_pipeline(&self.pipeline);
            pass.set_bind_group(0, bind_group, &[]);
            pass.dispatch_workgroups(1, 1, 1);
        }
    }
}
