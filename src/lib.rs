//! RMSNorm and its relatives as WGSL compute kernels, with a host layer on wgpu: for every row of the last dimension,
//! `y = x / sqrt(mean(x²) + eps) · weight (+ bias)`, in f32, f16 and bf16, on Vulkan, Metal, DX12 and WebGPU. LayerNorm; a
//! residual before or after; gates; groups, heads and partial statistics; the scale of each row; codes of 8 bits; rows in shards:
//! each in the one dispatch of the norm, without a pass over memory of its own. And the gradients of them.
//!
//! # Example: slices in, a `Vec` out
//!
//! ```no_run
//! use wgpu_rmsnorm::{Gpu, Inputs, NormSpec};
//!
//! let gpu = Gpu::new_blocking()?;
//! let norm = gpu.norm(NormSpec::torch(4, 1e-6))?;
//! let y: Vec<f32> = norm.run_blocking(&Inputs::new(&[1.0f32, 2.0, 3.0, 4.0]).weight(&[1.0f32; 4]))?;
//! # Ok::<(), wgpu_rmsnorm::Error>(())
//! ```
//!
//! # The nouns
//!
//! - [`NormSpec`]: *what* is computed, as plain data, with the presets of published models.
//! - [`Caps`]: what a device offers. [`Layout`]: where operands lie.
//! - [`Plan`]: *how*, a pure function of these and the number of rows. It prints itself, and [`Plan::shader`] is its WGSL text.
//! - [`Tuning`]: choices of plans that were measured on one device.
//! - [`Gpu`]: a device, opened by the library or the caller's. [`Norm`]: a spec on it.
//! - [`Prepared`]: a norm bound to buffers, recorded into the caller's encoder or pass, as often as wanted, with any number of
//!   rows up to the prepared one, without an allocation.
//! - [`Inputs`]: a norm's operands as host slices, for [`Norm::run`] and the CPU [`reference`](mod@reference).
//! - [`verify`]: the error model, and the case list that tells whether a device computes correctly.
//!
//! # Example: an engine's own encoder
//!
//! ```no_run
//! # fn build(device: wgpu::Device, queue: wgpu::Queue, hidden: &wgpu::Buffer, weight: &wgpu::Buffer) -> wgpu_rmsnorm::Result<()> {
//! use wgpu_rmsnorm::{DType, Gpu, NormSpec, Operands};
//!
//! let gpu = Gpu::from_wgpu_blocking(device.clone(), queue.clone())?;
//! let norm = gpu.norm(NormSpec::llama(4096, 1e-5).dtype(DType::F16))?;
//! let prepared = norm.prepare_blocking(&Operands::in_place(hidden).weight(weight), 512)?;
//!
//! let mut encoder = device.create_command_encoder(&Default::default());
//! prepared.record_in(&mut encoder, 17)?;
//! queue.submit([encoder.finish()]);
//! # Ok(())
//! # }
//! ```
//!
//! # Numbers
//!
//! Sums, scale and weight are f32 whatever the dtypes; the result is rounded once, to nearest, ties to even, in integers. f32
//! results lie within 4 ULP of float64 truth (members state what they add, and at which scale); f16 and bf16 results are the
//! correctly rounded ones or next to them. Any finite row is computed, from subnormals to 3e38. The order of summation is fixed,
//! so that on one device a row has the same bits in any batch and layout. [`verify`] states the bounds exactly.
//!
//! # Recipes
//!
//! [`cookbook`]: which preset, sub-allocation, mixed dtypes, residuals, heads, gates, quantised output, shards, gradients, decoding, tuning,
//! another host, a driver that fails, how to read a plan.
//!
//! # What it does not do
//!
//! [`NormSpec::backward`] is the backward pass of a norm: codes, and the halves of a sharded norm, have none, which is an error. A norm is
//! of rows, never of a batch. Only the last dimension is normalised, and its elements lie side by side. Nothing is broadcast but the weight of heads.
//!
//! # Features
//!
//! `gpu` (default) brings wgpu and everything that runs. Without it the crate is specs, plans, WGSL text and the CPU reference.
//! `vulkan`, `metal`, `dx12`, `webgpu` (default) and `gles` pass through to wgpu.

#![deny(missing_docs)]
#![deny(unsafe_code)]
#![cfg_attr(not(feature = "gpu"), allow(rustdoc::broken_intra_doc_links, reason = "the text above speaks of the host layer too"))]
#![warn(clippy::print_stdout, clippy::print_stderr)]

#[cfg(any(doc, all(doctest, feature = "gpu")))]
#[doc = include_str!("../docs/cookbook.md")]
pub mod cookbook {}
#[cfg(norms_alone)]
mod absent;
mod backward;
mod dtype;
mod error;
mod gate;
#[cfg(feature = "gpu")]
mod gpu;
mod groups;
mod inputs;
mod outputs;
pub mod plan;
mod preset;
mod quantized;
pub mod reference;
mod residual;
pub mod shader;
mod shard;
mod slot;
mod spec;
mod tuning;
mod validate;
mod values;
pub mod verify;

pub use backward::Backward;
pub use dtype::{DType, Element, F8E4M3};
pub use error::{Detail, Error, Result};
pub use gate::{Activation, Gate};
#[cfg(feature = "gpu")]
pub use wgpu;

#[cfg(feature = "gpu")]
pub use gpu::{Adapter, CompileTime, Gpu, GpuOptions, Norm, Operand, Operands, Prepared, SelfTest, adapters};
pub use groups::WeightOf;
pub use inputs::Inputs;
pub use outputs::Outputs;
pub use plan::{Access, Caps, DeviceKind, Force, Layout, Order, Placement, Plan, Reduction, Rung, Rungs, Tuned};
pub use preset::{CastOrder, OutputRule, Preset};
pub use quantized::Quantized;
pub use residual::{AddOrder, Residual};
pub use shader::Shader;
pub use shard::Shard;
pub use slot::{BySlot, Slot};
pub use spec::NormSpec;
pub use tuning::{Origin, Tuning};
pub use values::{Slice, Values};

/// The examples of the README are run like all others.
#[cfg(all(doctest, feature = "gpu"))]
#[doc = include_str!("../README.md")]
struct Readme;
