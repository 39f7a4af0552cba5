//! The gate: rows whose SiLU multiplies the input, or the result.

use crate::dtype::DType;
use crate::residual::AddOrder;
use crate::spec::{CastOrder, NormSpec};

/// Below this a gate's SiLU, which is less than 1e-300 there, counts as zero.
pub(crate) const GATE_IS_SHUT: f64 = -700.0;

/// A gate: `silu(z) = z / (1 + exp(-z))` of each of its elements multiplies one of the norm's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Gate {
    /// Its dtype.
    pub dtype: DType,
    /// Whether it multiplies the input or the result.
    pub order: AddOrder,
    /// Whether a result is rounded to the norm's own dtype before it is gated.
    pub rounded: bool,
}

impl NormSpec {
    /// The same with a gate in `dtype` on the input: `norm(x · silu(z))`, the product in f32. Mamba 2
    /// (`norm_before_gate = False`).
    ///
    /// ```
    /// use wgpu_rmsnorm::{DType, NormSpec};
    ///
    /// // Mamba 2 2.7B: statistics per group, gate first.
    /// let spec = NormSpec::llama(5120, 1e-5).dtype(DType::BF16).groups(8).gate_input(DType::BF16);
    /// spec.validate()?;
    /// # Ok::<(), wgpu_rmsnorm::Error>(())
    /// ```
    pub const fn gate_input(mut self, dtype: DType) -> Self {
        self.gate = Some(Gate { dtype, order: AddOrder::Before, rounded: false });
        self
    }

    /// The same with a gate in `dtype` on the result: `norm(x) · silu(z)` in f32, rounded once. Under a definition that rounds
    /// before the weight the norm's result is rounded to its own dtype first, as its authors' code does (Qwen3-Next).
    ///
    /// ```
    /// use wgpu_rmsnorm::{DType, NormSpec};
    ///
    /// let spec = NormSpec::llama(128, 1e-6).dtype(DType::BF16).gate_output(DType::BF16);
    /// assert!(spec.gate.unwrap().rounded);
    /// assert!(!NormSpec::torch(128, 1e-6).gate_output(DType::F32).gate.unwrap().rounded);
    /// ```
    pub const fn gate_output(mut self, dtype: DType) -> Self {
        let rounded = !matches!(self.cast, CastOrder::AfterWeight);
        self.gate = Some(Gate { dtype, order: AddOrder::After, rounded });
        self
    }

    /// Whether a gate multiplies the input.
    pub(crate) fn gates_input(&self) -> bool {
        self.gate.is_some_and(|gate| gate.order == AddOrder::Before)
    }

    /// The gate on the result.
    pub(crate) fn output_gate(&self) -> Option<Gate> {
        self.gate.filter(|gate| gate.order == AddOrder::After)
    }
}
