//! The backward pass of a norm.

use clap::Args;
use wgpu_rmsnorm::{DType, NormSpec};

use super::parse::dtype_parser;

/// The gradients, and what they are found from.
#[derive(Debug, Args)]
#[command(next_help_heading = "The backward pass")]
pub struct Gradients {
    /// The backward pass of the norm, rather than the norm
    #[arg(long, conflicts_with_all = ["rstd", "quantized", "stats", "apply"])]
    backward: bool,
    /// It reads the scale of each row as the norm wrote it
    #[arg(long, requires = "backward")]
    saved_rstd: bool,
    /// It adds what comes back along the residual stream, in this dtype
    #[arg(long, value_name = "DTYPE", value_parser = dtype_parser(), requires = "backward")]
    grad_residual_out: Option<DType>,
    /// The dtype of the gradients of weight and bias [default: that of weight and bias]
    #[arg(long, value_name = "DTYPE", value_parser = dtype_parser(), requires = "backward")]
    parameter_gradients: Option<DType>,
    /// Without gradients of weight and bias
    #[arg(long, requires = "backward", conflicts_with_all = ["parameter_gradients", "accumulate"])]
    no_parameter_gradients: bool,
    /// The gradients of weight and bias are added to what is there
    #[arg(long, requires = "backward")]
    accumulate: bool,
}

impl Gradients {
    /// The backward pass of the norm, where that is asked for.
    pub fn complete(&self, spec: NormSpec) -> NormSpec {
        if !self.backward {
            return spec;
        }
        let mut spec = spec.backward();
        if self.saved_rstd {
            spec = spec.saved_rstd();
        }
        if let Some(dtype) = self.grad_residual_out {
            spec = spec.grad_residual_out(dtype);
        }
        if let Some(dtype) = self.parameter_gradients {
            spec = spec.parameter_gradients(dtype);
        }
        if self.no_parameter_gradients {
            spec = spec.without_parameter_gradients();
        }
        if self.accumulate { spec.accumulate() } else { spec }
    }
}
