//! RMSNorm as WGSL compute kernels on wgpu.
#![deny(missing_docs)]
#![forbid(unsafe_code)]

mod dtype;
mod error;
pub mod plan;
pub mod reference;
pub mod shader;
mod spec;

pub use dtype::{DType, Element, Slice, Values};
pub use error::{Detail, Error, Result};
pub use plan::{Access, Caps, DeviceKind, Force, Layout, Order, Placement, Plan, Rung};
pub use shader::Shader;
pub use spec::{CastOrder, NormSpec, OutputRule, Preset};
