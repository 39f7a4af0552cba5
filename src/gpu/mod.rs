//! The host layer on wgpu: opening devices, compiling, recording, moving data.

mod adapter;
mod call;
mod device;
mod norm;
mod operands;
mod options;
mod pipeline;
mod pipelines;
mod prepared;
mod self_test;
mod transfer;
mod tuned;

pub use adapter::{Adapter, adapters};
pub use device::Gpu;
pub use norm::Norm;
pub use operands::{Operand, Operands};
pub use options::GpuOptions;
pub use pipelines::CompileTime;
pub use prepared::Prepared;
pub use self_test::SelfTest;

pub(crate) use transfer::{filled_buffer, new_encoder, read_into};
