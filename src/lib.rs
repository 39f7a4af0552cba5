//! RMSNorm as WGSL compute kernels on wgpu.
#![deny(missing_docs)]
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod dtype;
mod error;
#[cfg(feature = "gpu")]
mod gpu;
mod inputs;
pub mod plan;
pub mod reference;
pub mod shader;
mod spec;
pub mod verify;

pub use dtype::{DType, Element, Slice, Values};
pub use error::{Detail, Error, Result};
#[cfg(feature = "gpu")]
pub use wgpu;

#[cfg(feature = "gpu")]
pub use gpu::{Adapter, Gpu, GpuOptions, Norm, Operand, Operands, Prepared, SelfTest, adapters};
pub use inputs::Inputs;
pub use plan::{Access, Caps, DeviceKind, Force, Layout, Order, Placement, Plan, Rung};
pub use shader::Shader;
pub use spec::{CastOrder, NormSpec, OutputRule, Preset};
