//! The residual stream: what is added to the input before it is normalised.

use crate::dtype::DType;
use crate::spec::NormSpec;

/// When a residual is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AddOrder {
    /// To the input; the sum is normalised, and written back as the new residual.
    Before,
    /// To the normalised rows; the sum is the output.
    After,
}

/// A residual that is added to what goes into a norm, or to what comes out of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Residual {
    /// Its dtype, and that of the sum as it is written.
    pub dtype: DType,
    /// When it is added.
    pub order: AddOrder,
}

impl NormSpec {
    /// The same with a residual in `dtype` that is added to the input first, in place of any other residual: a pre-norm block's "add and norm", in one read of
    /// each and one write of each.
    ///
    /// The sum is formed in f32, as frameworks form it, and rounded to `dtype`; that is what `residual_out` gets, and what is
    /// normalised, so that the result has the bits of an addition followed by a norm. (vLLM, Liger and Transformers do so; see
    /// [`NormSpec::unrounded`].) Where the preset rounds to the input's dtype before the weight, the sum's dtype takes its place.
    /// The output's dtype still follows the input's.
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
    #[inline(never)]
    pub const fn add_residual(mut self, dtype: DType) -> Self {
        self.residual = Some(Residual { dtype, order: AddOrder::Before });
        self
    }

    /// The same with a residual in `dtype` that is added to the normalised rows, in place of any other residual: the end of a post-norm block, as Gemma 2 and 3
    /// have it. The norm's result is rounded to the dtype that the output would have without a residual, the sum is formed in
    /// f32, and the output is this sum, in `dtype`.
    ///
    /// ```
    /// use wgpu_rmsnorm::{DType, NormSpec};
    ///
    /// // bf16 activations and weights; the result is added to an f32 stream.
    /// let spec = NormSpec::gemma(2304, 1e-6).dtype(DType::BF16).then_add_residual(DType::F32);
    /// assert_eq!((spec.norm_dtype(), spec.output_dtype()), (DType::BF16, DType::F32));
    /// ```
    #[inline(never)]
    pub const fn then_add_residual(mut self, dtype: DType) -> Self {
        self.residual = Some(Residual { dtype, order: AddOrder::After });
        self
    }

    /// The same with the f32 sum normalised before it is rounded (quack, FlashInfer, flash-attn). (A norm
    /// without a residual that is added first is refused.)
    pub const fn unrounded(mut self) -> Self {
        self.unrounded_sum = true;
        self
    }

    /// The dtype of what is normalised, as presets see it: the input's, or that of the sum where a residual is added first.
    pub const fn value_dtype(&self) -> DType {
        match self.residual_out_dtype() {
            Some(dtype) => dtype,
            None => self.input,
        }
    }

    /// The residual's dtype, where there is one.
    pub const fn residual_dtype(&self) -> Option<DType> {
        match self.residual {
            Some(residual) => Some(residual.dtype),
            None => None,
        }
    }

    /// The dtype of the sum that is written beside the output, where a residual is added first.
    pub const fn residual_out_dtype(&self) -> Option<DType> {
        match self.residual {
            Some(Residual { dtype, order: AddOrder::Before, .. }) => Some(dtype),
            _ => None,
        }
    }

    /// The output's dtype: the norm's own, that of a residual that is added to it, that of its codes, f32 for statistics, or that of
    /// the input's gradient.
    pub fn output_dtype(&self) -> DType {
        if let Some(backward) = &self.backward {
            return backward.grad_input;
        }
        match self.residual_dtype() {
            _ if self.is_stats() => DType::F32,
            _ if self.quantized.is_some() => self.quantized.map_or(DType::F32, |quantized| quantized.dtype),
            Some(dtype) if self.adds_after() => dtype,
            _ => self.norm_dtype(),
        }
    }

    /// Whether a residual is added to the normalised rows.
    pub(crate) fn adds_after(&self) -> bool {
        self.residual.is_some_and(|residual| residual.order == AddOrder::After)
    }

    /// The dtype that a residual's sum is rounded to before it is normalised, where that loses anything.
    pub(crate) fn sum_rounded_to(&self) -> Option<DType> {
        self.residual_out_dtype().filter(|dtype| dtype.is_half() && !self.unrounded_sum)
    }

    /// The norm of the sum alone, whose input is what this one writes back.
    pub(crate) fn of_sum(mut self) -> Self {
        let output = self.norm_dtype();
        self.input = self.value_dtype();
        self = self.alone();
        // Codes are of the result in f32, but where a gate makes a stop at the norm's own dtype.
        if self.quantized.is_some() && self.output_gate().is_none() { self } else { self.output(output) }
    }

    /// The norm without its residual.
    pub(crate) fn alone(mut self) -> Self {
        (self.residual, self.unrounded_sum) = (None, false);
        self
    }
}
