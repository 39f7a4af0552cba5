//! The CPU twins of the kernels, in f64, under the names of the shader files.
//!
//! A twin computes in f64 from the operands as stored and rounds exactly where the definition rounds. It does not imitate
//! the GPU's order of summation: it is what the GPU is measured against.

mod residual_sum;
mod rms_norm;

pub use residual_sum::residual_sum;
pub use rms_norm::rms_norm;
pub(crate) use rms_norm::values;
