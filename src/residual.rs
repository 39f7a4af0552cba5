//! The residual stream: what is added to the input before it is normalised.

use crate::dtype::DType;
use crate::spec::NormSpec;

/// A residual that is added to the input; the sum is normalised, and written back as the new residual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Residual {
    /// Its dtype, and that of the sum as it is written back.
    pub dtype: DType,
    /// Whether the sum is normalised as it is written back, rounded to `dtype`, or as the f32 sum that it was before.
    pub rounded: bool,
}

impl NormSpec {
    /// The same with a residual in `dtype` that is added to the input first: a pre-norm block's "add and norm", in one read of each
    /// and one write of each.
    ///
    /// The sum is formed in f32 and rounded once to `dtype`; that is what `residual_out` gets, and what is normalised, so that the
    /// result has the bits of an addition followed by a norm. (vLLM, Liger and Transformers do so; see [`NormSpec::unrounded`].)
    /// Where the preset rounds to the input's dtype before the weight, the sum's dtype takes its place. The output's dtype
    /// still follows the input's.
    ///
    /// ```
    /// use wgpu_rmsnorm::{DType, Inputs, NormSpec, reference};
    ///
    /// // bf16 activations on an f32 residual stream.
    /// let spec = NormSpec::torch(2, 0.0).dtype(DType::BF16).without_weight().add_residual(DType::F32);
    /// let x = [1.0f32, 2.0].map(half::bf16::from_f32);
    /// let inputs = Inputs::new(x.as_slice()).residual(&[2.0f32, 2.0]);
    /// assert_eq!(reference::residual_sum(&spec, &inputs)?.as_slice().widen(), [3.0, 4.0]);
    /// # Ok::<(), wgpu_rmsnorm::Error>(())
    /// ```
    pub const fn add_residual(mut self, dtype: DType) -> Self {
        self.residual = Some(Residual { dtype, rounded: true });
        self
    }

    /// The same with the f32 sum normalised before it is rounded (quack, FlashInfer, flash-attn). Without a residual it changes
    /// nothing.
    pub const fn unrounded(mut self) -> Self {
        if let Some(residual) = &mut self.residual {
            residual.rounded = false;
        }
        self
    }

    /// The dtype of what is normalised, as presets see it: the input's, or the residual's where there is one.
    pub const fn value_dtype(&self) -> DType {
        match self.residual {
            Some(residual) => residual.dtype,
            None => self.input,
        }
    }

    /// The dtype that a residual's sum is rounded to before it is normalised, where that loses anything.
    pub(crate) fn sum_rounded_to(&self) -> Option<DType> {
        self.residual.filter(|residual| residual.rounded && residual.dtype.is_half()).map(|residual| residual.dtype)
    }

    /// The norm of the sum alone, whose input is what this one writes back.
    pub(crate) fn of_sum(mut self) -> Self {
        let output = self.output_dtype();
        self.input = self.value_dtype();
        self.residual = None;
        self.output(output)
    }
}
