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
            None => {
                let given = [
                    ("--unrounded", self.unrounded),
                    ("--add-after", self.add_after),
                    ("--residual-dtype", self.residual_dtype.is_some()),
                ];
                refuse(&given, "residual")?;
                spec
            }
        };
        let opened = |spec: NormSpec| if self.gate_activation == Some(Activation::Sigmoid) { spec.sigmoid() } else { spec };
        match gate {
            Some(dtype) if self.gate_input => Ok(opened(spec.gate_input(dtype))),
            Some(dtype) if self.gate_output => Ok(opened(spec.gate_output(dtype))),
            Some(_) => {
                let remedy = "pass --gate-output for norm(x) · silu(gate), or --gate-input for norm(x · silu(gate))";
                Err(Failure::new("--gate: it is not said what the gate multiplies", remedy))
            }
            None => refuse(&self.of_a_gate(), "gate").map(|()| spec),
        }
    }

    /// Whether a flag has no meaning without a gate.
    pub fn speaks_of_a_gate(&self) -> bool {
        self.of_a_gate().iter().any(|(_, given)| *given)
    }

    fn of_a_gate(&self) -> [(&'static str, bool); 4] {
        [
            ("--gate-input", self.gate_input),
            ("--gate-output", self.gate_output),
            ("--gate-dtype", self.gate_dtype.is_some()),
            ("--gate-activation", self.gate_activation.is_some()),
        ]
    }
}

/// Refuses flags that speak of an operand which is not there.
fn refuse(flags: &[(&str, bool)], operand: &str) -> Result<(), Failure> {
    let given: Vec<_> = flags.iter().filter(|(_, given)| *given).map(|(flag, _)| *flag).collect();
    if given.is_empty() {
        return Ok(());
    }
    let remedy = format!("pass --{operand}, or leave {} out", if given.len() == 1 { "it" } else { "them" });
    Err(Failure::new(format_args!("{}: there is no {operand}", given.join(", ")), remedy))
}
