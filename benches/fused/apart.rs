//! What is not fused: plain kernels, as an engine has them, and norms alone.

use std::error::Error;

use wgpu_rmsnorm::{DType, Gpu, Prepared, wgpu};

use super::tensor::Tensor;

/// Elements in 16 bytes of halves, and invocations of a workgroup that works on them one by one.
const OCTET: u64 = 8;
const WORKGROUP: u64 = 256;

/// The kernels, by what they do.
#[derive(Clone, Copy)]
pub enum Plain {
    /// x, and s that it is added to.
    Add,
    /// x, z and their product's place.
    SiluMultiply,
    /// x, scales and codes.
    Quantize,
    /// x and scales.
    Rstd,
}

/// A dispatch.
pub enum Step {
    Norm(Box<Prepared>),
    Kernel { pipeline: wgpu::ComputePipeline, bind_group: wgpu::BindGroup, workgroups: u32, bytes: u64 },
}

impl Step {
    /// A kernel on whole tensors; the first holds the rows that it reads, halves.
    pub fn kernel(gpu: &Gpu, plain: Plain, eps: f32, tensors: &[&Tensor]) -> Result<Self, Box<dyn Error>> {
        let [x, others @ ..] = tensors else { return Err("a kernel without operands".into()) };
        let last = others.last().ok_or("a kernel with one operand")?;
        let by_row = matches!(plain, Plain::Quantize | Plain::Rstd);
        let octets = x.length / OCTET;
        let text = match plain {
            Plain::Add if last.dtype == DType::F32 => include_str!("add_to_f32.wgsl"),
            Plain::Add => include_str!("add_to_half.wgsl"),
            Plain::SiluMultiply => include_str!("silu_multiply.wgsl"),
            Plain::Quantize => include_str!("quantize.wgsl"),
            Plain::Rstd => include_str!("rstd.wgsl"),
        };
        let half = if x.dtype == DType::F16 { include_str!("f16.wgsl") } else { include_str!("bf16.wgsl") };
        let row = format!("{}\nconst OCTETS = {octets}u;\nconst EPS = {eps:?};\n", include_str!("join.wgsl"));
        let wgsl = [half, include_str!("octet.wgsl"), if by_row { &row } else { "" }, text].join("\n");
        let device = gpu.device();
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("apart"),
            source: wgpu::ShaderSource::Wgsl(wgsl.into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("apart"),
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let entries: Vec<_> = (0..)
            .zip(tensors)
            .map(|(binding, tensor)| wgpu::BindGroupEntry { binding, resource: tensor.buffer.as_entire_binding() })
            .collect();
        let layout = pipeline.get_bind_group_layout(0);
        let bind_group =
            device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some("apart"), layout: &layout, entries: &entries });
        let workgroups = if by_row { x.rows } else { (x.rows * octets).div_ceil(WORKGROUP) };
        // What an addition writes it has read.
        let read_too = if matches!(plain, Plain::Add) { last.bytes() } else { 0 };
        let bytes = tensors.iter().map(|tensor| tensor.bytes()).sum::<u64>() + read_too;
        Ok(Step::Kernel { pipeline, bind_group, workgroups: workgroups.try_into()?, bytes })
    }

    pub fn record(&self, pass: &mut wgpu::ComputePass<'_>, rows: u64) -> Result<(), Box<dyn Error>> {
        match self {
            Step::Norm(prepared) => prepared.record(pass, rows)?,
            Step::Kernel { pipeline, bind_group, workgroups, .. } => {
                pass.set_pipeline(pipeline);
                pass.set_bind_group(0, bind_group, &[]);
                pass.dispatch_workgroups(*workgroups, 1, 1);
            }
        }
        Ok(())
    }

    /// Bytes that it must move: each operand once, and twice what it replaces.
    pub fn bytes(&self, rows: u64) -> u64 {
        match self {
            Step::Norm(prepared) => prepared.plan().bytes(rows),
            Step::Kernel { bytes, .. } => *bytes,
        }
    }
}
