//! The CPU twins of the kernels, in f64.
//!
//! A twin computes in f64 from the operands as stored and rounds exactly where the definition rounds. It does not imitate
//! the GPU's order of summation: it is what the GPU is measured against. [`norm`] is the twin of `shaders/rms_norm.wgsl`,
//! `layer_norm.wgsl` and `apply.wgsl`, [`stats`] that of `stats.wgsl`, [`gradients`] that of `backward.wgsl` and `grad_channels.wgsl`; the others are those of the parts that write beside the
//! rows.

mod backward;
mod moments;
mod norm;
mod quantized;
mod stats;
mod values;

pub(crate) use backward::{Element, RowSlopes, Slopes};
pub use backward::{Gradients, gradients};
pub(crate) use moments::Moments;
pub use moments::rstd;
pub use norm::norm;
pub use quantized::quantized;
pub use stats::stats;
pub(crate) use stats::{joined, statistic};
pub use values::residual_sum;
pub(crate) use values::{opening, values};
