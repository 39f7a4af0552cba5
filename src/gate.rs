//! The gate: rows that open to a factor of the input, or of the result.

use std::str::FromStr;

use crate::dtype::DType;
use crate::error::{Detail, Error, Result};
use crate::preset::CastOrder;
use crate::residual::AddOrder;
use crate::spec::NormSpec;

/// Below this a gate counts as shut: it would open to less than 1e-300.
pub(crate) const GATE_IS_SHUT: f64 = -700.0;

/// What a gate's element `z` opens to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Activation {
    /// `z / (1 + exp(-z))`: Mamba 2, Qwen3-Next.
    Silu,
    /// `1 / (1 + exp(-z))`: gated delta nets and attention outputs in flash-linear-attention.
    Sigmoid,
}

impl Activation {
    /// All of them.
    pub const ALL: [Activation; 2] = [Activation::Silu, Activation::Sigmoid];

    /// The name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Activation::Silu => "silu",
            Activation::Sigmoid => "sigmoid",
        }
    }
}

/// The name in lower case.
impl FromStr for Activation {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        Activation::ALL.into_iter().find(|activation| activation.name() == name).ok_or_else(|| {
            let expected = Activation::ALL.map(Activation::name).join(" or ");
            Error::Spec(Detail::new("activation", expected, format!("{name:?}"), "choose one of these"))
        })
    }
}

/// A gate: what each of its elements opens to multiplies one of the norm's.
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
    /// The same with a gate in `dtype` on the input, in place of any other gate: `norm(x · silu(z))`, the product in f32. Mamba 2
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
    #[inline(never)]
    pub const fn gate_input(mut self, dtype: DType) -> Self {
        self.gate = Some(Gate { dtype, order: AddOrder::Before, rounded: false });
        self
    }

    /// The same with a gate in `dtype` on the result, in place of any other gate: `norm(x) · silu(z)` in f32, rounded once. Under a definition that rounds
    /// before the weight the norm's result is rounded to its own dtype first, as its authors' code does (Qwen3-Next).
    ///
    /// ```
    /// use wgpu_rmsnorm::{DType, NormSpec};
    ///
    /// let spec = NormSpec::llama(128, 1e-6).dtype(DType::BF16).gate_output(DType::BF16);
    /// assert!(spec.gate.unwrap().rounded);
    /// assert!(!NormSpec::torch(128, 1e-6).gate_output(DType::F32).gate.unwrap().rounded);
    /// ```
    #[inline(never)]
    pub const fn gate_output(mut self, dtype: DType) -> Self {
        let rounded = !matches!(self.cast, CastOrder::AfterWeight);
        self.gate = Some(Gate { dtype, order: AddOrder::After, rounded });
        self
    }

    /// The same with a gate that opens by its sigmoid rather than by SiLU. (A norm without a gate is refused.)
    ///
    /// ```
    /// use wgpu_rmsnorm::{DType, Inputs, NormSpec, reference};
    ///
    /// let spec = NormSpec::torch(2, 0.0).without_weight().gate_output(DType::F32).sigmoid();
    /// assert_eq!(reference::norm(&spec, &Inputs::new(&[1.0f32, 1.0]).gate(&[0.0f32, 800.0]))?, [0.5, 1.0]);
    /// # Ok::<(), wgpu_rmsnorm::Error>(())
    /// ```
    pub const fn sigmoid(mut self) -> Self {
        self.activation = Activation::Sigmoid;
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
