//! What can be timed: operations and dtypes.

use clap::ValueEnum;
use wgpu_rmsnorm::{DType, NormSpec};

const EPS: f32 = 1e-5;

/// Members of the family, by the library's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Operation {
    /// RMSNorm
    Norm,
    /// LayerNorm, with a bias
    LayerNorm,
    /// A residual added to the input, the sum written back
    AddResidual,
    /// A residual added to the result
    ThenAddResidual,
    /// The result gated by SiLU
    GateOutput,
    /// The input gated by SiLU
    GateInput,
    /// The scale of each row written beside
    Rstd,
    /// int8 codes, by a scale of each row
    Quantized,
    /// Statistics of a shard
    Stats,
    /// Gradients of RMSNorm's input and weight
    Backward,
    /// The same by the scales that the norm wrote
    BackwardSavedRstd,
    /// Gradients after a residual that was added first, with what comes back along the stream
    BackwardAddResidual,
    /// Gradients of a gated result, and of the gate
    BackwardGateOutput,
    /// Gradients of a LayerNorm's input, weight and bias
    LayerNormBackward,
}

/// Dtypes of rows and channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Dtypes {
    /// f32
    F32,
    /// f16
    F16,
    /// bf16
    Bf16,
    /// bf16 rows, f32 weight
    Mixed,
}

impl Dtypes {
    pub fn name(self) -> String {
        self.to_possible_value().map_or(String::new(), |value| value.get_name().to_owned())
    }

    /// The rows' dtype.
    pub fn of_rows(self) -> DType {
        match self {
            Self::F32 => DType::F32,
            Self::F16 => DType::F16,
            Self::Bf16 | Self::Mixed => DType::BF16,
        }
    }
}

impl Operation {
    pub fn name(self) -> String {
        self.to_possible_value().map_or(String::new(), |value| value.get_name().replace('-', "_"))
    }

    pub fn spec(self, hidden: u64, dtypes: Dtypes) -> NormSpec {
        let rows = dtypes.of_rows();
        let norm = |spec: NormSpec| {
            let spec = spec.dtype(rows);
            // Codes have no other dtype.
            let spec = if self == Self::Quantized { spec } else { spec.output(rows) };
            if dtypes == Dtypes::Mixed { spec.weight(DType::F32) } else { spec }
        };
        let torch = norm(NormSpec::torch(hidden, EPS));
        match self {
            Self::Norm => torch,
            Self::LayerNorm => norm(NormSpec::layer_norm(hidden, EPS)),
            Self::AddResidual => torch.add_residual(rows),
            Self::ThenAddResidual => torch.then_add_residual(rows),
            Self::GateOutput => torch.gate_output(rows),
            Self::GateInput => torch.gate_input(rows),
            Self::Rstd => torch.rstd(),
            Self::Quantized => torch.quantized(DType::I8),
            Self::Backward => torch.backward(),
            Self::BackwardSavedRstd => torch.backward().saved_rstd(),
            Self::BackwardAddResidual => torch.add_residual(rows).backward().grad_residual_out(rows),
            Self::BackwardGateOutput => torch.gate_output(rows).backward(),
            Self::LayerNormBackward => norm(NormSpec::layer_norm(hidden, EPS)).backward(),
            Self::Stats => NormSpec::torch(hidden, EPS).dtype(rows).stats(),
        }
    }
}
