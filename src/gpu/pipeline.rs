//! Compiled kernels.

use super::call::checked;
use crate::error::{Error, Result};
use crate::plan::{Params, Plan};
use crate::shader::{Shader, first_storage_binding};

/// A compiled kernel with the layout of its bindings.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub pipeline: wgpu::ComputePipeline,
    pub bindings: wgpu::BindGroupLayout,
}

impl Pipeline {
    pub async fn compile(device: &wgpu::Device, plan: &Plan, shader: &Shader) -> Result<Self> {
        let entries = layout_entries(plan);
        let label = Some(shader.label.as_str());
        let compiled = checked(device, "create_compute_pipeline", || {
            let bindings = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label, entries: &entries });
            let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label,
                bind_group_layouts: &[Some(&bindings)],
                immediate_size: 0,
            });
            let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label,
                source: wgpu::ShaderSource::Wgsl(shader.wgsl.as_str().into()),
            });
            let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label,
                layout: Some(&layout),
                module: &module,
                entry_point: Some(Shader::ENTRY),
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                cache: None,
            });
            Self { pipeline, bindings }
        })
        .await;
        compiled.map_err(|error| match error {
            Error::Wgpu { message, .. } => Error::Shader { kernel: shader.label.clone(), message },
            other => other,
        })
    }
}

fn layout_entries(plan: &Plan) -> Vec<wgpu::BindGroupLayoutEntry> {
    let entry = |binding, ty, has_dynamic_offset, min_binding_size| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: wgpu::BufferSize::new(min_binding_size) },
        count: None,
    };
    let uniform = wgpu::BufferBindingType::Uniform;
    let params = entry(Shader::PARAMS_BINDING, uniform, false, size_of::<Params>() as u64);
    let digits = (0..plan.row_digits).map(|digit| entry(1 + digit, uniform, true, 16));
    let storage = plan.bindings.iter().enumerate().map(|(index, binding)| {
        let ty = wgpu::BufferBindingType::Storage { read_only: !binding.writable };
        entry(first_storage_binding(plan) + index as u32, ty, false, if binding.wide { 16 } else { 4 })
    });
    std::iter::once(params).chain(digits).chain(storage).collect()
}
