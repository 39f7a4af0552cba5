//! Rows beside the input: a residual and a gate.

use clap::Args;
use wgpu_rmsnorm::{Activation, DType, NormSpec};

use super::parse::{activation_parser, dtype_parser};
use crate::failure::Failure;

/// How a residual is added, and where a gate acts.
#[derive(Debug, Args)]
#[command(next_help_heading = "The norm")]
pub struct Beside {
    /// A residual that is added first is in this dtype [default: the file's]; the sum is written back in it
    #[arg(long, value_name = "DTYPE", value_parser = dtype_parser())]
    pub residual_dtype: Option<DType>,
    /// Normalise the sum with the residual before it is rounded
    #[arg(long, conflicts_with = "add_after")]
    pub unrounded: bool,
    /// Add the residual to the result, not to the input
    #[arg(long)]
    pub add_after: bool,
    /// The gate's dtype [default: the file's; the input's where there is no file]
    #[arg(long, value_name = "DTYPE", value_parser = dtype_parser())]
    pub gate_dtype: Option<DType>,
    /// The gate, opened, multiplies the input: norm(x · silu(gate))
    #[arg(long, conflicts_with = "gate_output")]
    pub gate_input: bool,
    /// The gate, opened, multiplies the result: norm(x) · silu(gate)
    #[arg(long)]
    pub gate_output: bool,
    /// What the gate's elements open to [default: silu]
    #[arg(long, value_name = "FUNCTION", value_parser = activation_parser())]
    pub gate_activation: Option<Activation>,
}

impl Beside {
    /// The spec with a residual and a gate in these dtypes. Flags that speak of one that is not there are refused.
    pub fn complete(&self, spec: NormSpec, residual: Option<DType>, gate: Option<DType>) -> Result<NormSpec, Failure> {
        let spec = match residual {
            Some(dtype) if self.add_after => spec.then_add_residual(dtype),
            Some(dtype) if self.unrounded => spec.add_residual(dtype).unrounded(),
            Some(dtype) => spec.add_residual(dtype),
            None if self.unrounded || self.add_after || self.residual_dtype.is_some() => {
                let problem = "--unrounded, --add-after, --residual-dtype: there is no residual";
                return Err(Failure::new(problem, "leave them out, or pass --residual"));
            }
            None => spec,
        };
        let opened = |spec: NormSpec| if self.gate_activation == Some(Activation::Sigmoid) { spec.sigmoid() } else { spec };
        match gate {
            Some(dtype) if self.gate_input => Ok(opened(spec.gate_input(dtype))),
            Some(dtype) if self.gate_output => Ok(opened(spec.gate_output(dtype))),
            Some(_) => {
                let remedy = "pass --gate-output for norm(x) · silu(gate), or --gate-input for norm(x · silu(gate))";
                Err(Failure::new("--gate: it is not said what the gate multiplies", remedy))
            }
            None if self.speaks_of_a_gate() => {
                let problem = "--gate-input, --gate-output, --gate-dtype, --gate-activation: there is no gate";
                Err(Failure::new(problem, "leave them out, or pass --gate"))
            }
            None => Ok(spec),
        }
    }

    /// Whether a flag has no meaning without a gate.
    pub fn speaks_of_a_gate(&self) -> bool {
        self.gate_input || self.gate_output || self.gate_dtype.is_some() || self.gate_activation.is_some()
    }
}
