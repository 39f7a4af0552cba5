//! Compiled kernels.

use super::call::checked;
use super::pipelines::Compiler;
use crate::error::{Error, Result};
use crate::plan::{Binding, Params};
use crate::shader::{Bound, Shader};

/// Bytes of a digit of the number of rows, as it is bound.
pub(super) const DIGIT_BYTES: u64 = 16;

/// A compiled kernel with the layout of its bindings.
#[derive(Debug)]
pub(crate) struct Pipeline {
    pub pipeline: wgpu::ComputePipeline,
    pub layout: wgpu::BindGroupLayout,
    /// What the layout's entries are.
    pub bindings: Vec<Bound>,
}

impl Pipeline {
    pub async fn compile(device: &wgpu::Device, bindings: &[Binding], shader: &Shader, compiler: &Compiler) -> Result<Self> {
        let entries = layout_entries(bindings, shader);
        let label = Some(shader.label.as_str());
        let compiled = checked(device, "create_compute_pipeline", || {
            let layout_of_bindings =
                device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label, entries: &entries });
            let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
                label,
                bind_group_layouts: &[Some(&layout_of_bindings)],
                immediate_size: 0,
            });
            let source = wgpu::ShaderSource::Wgsl(shader.wgsl.as_str().into());
            let module = shader_module(device, wgpu::ShaderModuleDescriptor { label, source }, compiler.runtime_checks);
            let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label,
                layout: Some(&layout),
                module: &module,
                entry_point: Some(Shader::ENTRY),
                compilation_options: wgpu::PipelineCompilationOptions {
                    // The kernel reads no workgroup memory that it has not written.
                    zero_initialize_workgroup_memory: compiler.runtime_checks,
                    ..Default::default()
                },
                cache: compiler.cache.as_ref(),
            });
            Self { pipeline, layout: layout_of_bindings, bindings: shader.bindings.clone() }
        })
        .await;
        compiled.map_err(|error| match error {
            Error::Wgpu { message, .. } => Error::Shader { kernel: shader.label.clone(), message },
            other => other,
        })
    }
}

fn shader_module(device: &wgpu::Device, text: wgpu::ShaderModuleDescriptor<'_>, runtime_checks: bool) -> wgpu::ShaderModule {
    if runtime_checks {
        return device.create_shader_module(text);
    }
    // SAFETY: every index that a kernel forms lies within its binding, and every loop ends: the properties of plans that
    // tests/plan/ holds over random norms, layouts and limits. On software drivers the checks take up to a quarter of the time.
    #[allow(unsafe_code, reason = "the one place where kernels are trusted")]
    unsafe {
        device.create_shader_module_trusted(text, wgpu::ShaderRuntimeChecks::unchecked())
    }
}

fn layout_entries(bindings: &[Binding], shader: &Shader) -> Vec<wgpu::BindGroupLayoutEntry> {
    let uniform = wgpu::BufferBindingType::Uniform;
    let entry = |(number, bound): (usize, &Bound)| {
        let (ty, has_dynamic_offset, min_binding_size) = match *bound {
            Bound::Params => (uniform, false, size_of::<Params>() as u64),
            Bound::RowDigit(_) => (uniform, true, DIGIT_BYTES),
            Bound::Scratch => (wgpu::BufferBindingType::Storage { read_only: false }, false, 32),
            Bound::Storage(index) => {
                let binding = &bindings[index];
                let ty = wgpu::BufferBindingType::Storage { read_only: !binding.writable };
                (ty, false, 4 * binding.words)
            }
        };
        wgpu::BindGroupLayoutEntry {
            binding: number as u32,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: wgpu::BufferSize::new(min_binding_size) },
            count: None,
        }
    };
    shader.bindings.iter().enumerate().map(entry).collect()
}
