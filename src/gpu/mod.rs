//! The host layer on wgpu: opening devices, compiling, recording, moving data.

mod adapter;
mod call;
mod device;
mod norm;
mod operands;
mod pipeline;
mod prepared;
mod self_test;
mod transfer;

pub use adapter::{Adapter, adapters};
pub use device::{Gpu, GpuOptions};
pub use norm::Norm;
pub use operands::{Operand, Operands};
pub use prepared::Prepared;
pub use self_test::SelfTest;

pub(crate) use transfer::{filled_buffer, new_encoder, read_into};
