//! What is computed: [`NormSpec`], its presets and its validation.

use crate::backward::Backward;
use crate::dtype::DType;
use crate::error::{Detail, Error, Result};
use crate::gate::{Activation, Gate};
use crate::groups::WeightOf;
use crate::preset::{CastOrder, OutputRule, Preset};
use crate::quantized::Quantized;
use crate::residual::Residual;
use crate::shard::Shard;
use crate::slot::Slot;
use crate::values::Values;

/// What is computed, as plain data.
///
/// `y = round(x · r · (w + weight_offset) + b)` with `r = 1/sqrt(mean(x²) + eps)` over the last dimension, per row: eps is
/// *inside* the root, added to the mean. The arithmetic is f32 whatever the dtypes.
///
/// ```
/// use wgpu_rmsnorm::{DType, NormSpec};
///
/// // Llama 3 8B: bf16 activations and weights.
/// let spec = NormSpec::llama(4096, 1e-5).dtype(DType::BF16);
/// assert_eq!(spec.output_dtype(), DType::BF16);
///
/// // The same with f32 weights promotes, as it does in Transformers ...
/// let mixed = spec.weight(DType::F32);
/// assert_eq!(mixed.output_dtype(), DType::F32);
/// // ... unless the caller says what the output shall be.
/// assert_eq!(mixed.output(DType::BF16).output_dtype(), DType::BF16);
///
/// // Any leading shape: the last dimension is normalised, the rest are rows.
/// assert_eq!(spec.rows_of(&[2, 3, 4096])?, 6);
/// # Ok::<(), wgpu_rmsnorm::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct NormSpec {
    /// Channels a row: the length of the last dimension. At least 1.
    pub hidden: u64,
    /// Added to the mean of squares, inside the root. Finite and at least 0; with 0 an all-zero row gives zeros.
    pub eps: f32,
    /// The input's dtype.
    pub input: DType,
    /// The weight's dtype (one value a channel); `None` weights every channel by exactly 1, whatever `weight_offset`.
    pub weight: Option<DType>,
    /// Added to every weight in f32: 0, or 1 where weights are stored around zero. Finite.
    pub weight_offset: f32,
    /// The bias's dtype (one value a channel), `None` for none.
    pub bias: Option<DType>,
    /// What weight and bias have values for.
    pub weight_of: WeightOf,
    /// Whether the mean is taken off first: LayerNorm.
    pub centered: bool,
    /// Groups of channels, each with a statistic of its own: 1 where a row has one.
    pub groups: u64,
    /// Channels (of each group, the first) that the statistic is made of, where not of all.
    pub statistics_length: Option<u64>,
    /// What is added to the input, or to the result, `None` for nothing.
    pub residual: Option<Residual>,
    /// What the input, or the result, is multiplied by, `None` for nothing.
    pub gate: Option<Gate>,
    /// What the elements of a gate open to.
    pub activation: Activation,
    /// Whether a sum that is normalised is taken as it was before it was rounded to be written back.
    pub unrounded_sum: bool,
    /// Whether the normalised value is rounded before the weight.
    pub cast: CastOrder,
    /// Which dtype the output has.
    pub output: OutputRule,
    /// Whether the scale of each row (of each group) is written beside the output.
    pub rstd: bool,
    /// Output in codes of 8 bits, `None` for output as it is.
    pub quantized: Option<Quantized>,
    /// Which half of a sharded norm this is, `None` for a whole one.
    pub shard: Option<Shard>,
    /// What is read and written where the gradients of the norm are computed, `None` for the norm itself.
    pub backward: Option<Backward>,
}

impl NormSpec {
    /// [`Preset::Torch`], the default choice: one rounding, output in the input's dtype.
    pub const fn torch(hidden: u64, eps: f32) -> Self {
        Preset::Torch.spec(hidden, eps)
    }
    /// [`Preset::Llama`]: rounded to the input's dtype before the weight.
    pub const fn llama(hidden: u64, eps: f32) -> Self {
        Preset::Llama.spec(hidden, eps)
    }
    /// [`Preset::Gemma`]: weights stored around zero, `1 + w` in f32.
    pub const fn gemma(hidden: u64, eps: f32) -> Self {
        Preset::Gemma.spec(hidden, eps)
    }
    /// [`Preset::T5`]: rounded to a half weight's dtype before the weight.
    pub const fn t5(hidden: u64, eps: f32) -> Self {
        Preset::T5.spec(hidden, eps)
    }
    /// [`Preset::Onnx`]: ONNX `RMSNormalization`.
    pub const fn onnx(hidden: u64, eps: f32) -> Self {
        Preset::Onnx.spec(hidden, eps)
    }

    /// [`Preset::LayerNorm`]: the mean taken off first, with weight and bias.
    pub const fn layer_norm(hidden: u64, eps: f32) -> Self {
        Preset::LayerNorm.spec(hidden, eps)
    }

    /// The same with input, weight, bias, residual and gate (those that it has) in `dtype`; the output follows the preset's rule.
    #[inline(never)]
    pub const fn dtype(mut self, dtype: DType) -> Self {
        self.input = dtype;
        if self.weight.is_some() {
            self.weight = Some(dtype);
        }
        if self.bias.is_some() {
            self.bias = Some(dtype);
        }
        if let Some(residual) = &mut self.residual {
            residual.dtype = dtype;
        }
        if let Some(gate) = &mut self.gate {
            gate.dtype = dtype;
        }
        self
    }
    /// The same with the input in `dtype`.
    #[inline(never)]
    pub const fn input(mut self, dtype: DType) -> Self {
        self.input = dtype;
        self
    }
    /// The same with a weight in `dtype`.
    #[inline(never)]
    pub const fn weight(mut self, dtype: DType) -> Self {
        self.weight = Some(dtype);
        self
    }
    /// The same without a weight.
    #[inline(never)]
    pub const fn without_weight(mut self) -> Self {
        self.weight = None;
        self
    }
    /// The same with `offset` added to every weight in f32.
    pub const fn weight_offset(mut self, offset: f32) -> Self {
        self.weight_offset = offset;
        self
    }
    /// The same with a bias in `dtype`.
    #[inline(never)]
    pub const fn bias(mut self, dtype: DType) -> Self {
        self.bias = Some(dtype);
        self
    }
    /// The same without a bias.
    pub const fn without_bias(mut self) -> Self {
        self.bias = None;
        self
    }
    /// The same with the scale of each row (of each group), `1/sqrt(mean(x²) + eps)` (of the variance in a LayerNorm), written
    /// beside the output in f32: what a backward pass wants. It is 0 for a row of zeros with eps 0, and infinite where f32 does not hold it.
    #[inline(never)]
    pub const fn rstd(mut self) -> Self {
        self.rstd = true;
        self
    }
    /// The same with another rounding order.
    pub const fn cast(mut self, cast: CastOrder) -> Self {
        self.cast = cast;
        self
    }
    /// The same with the norm's result in `dtype`, whatever the preset's rule. It is the output, unless a residual is added to
    /// it: the sum has the residual's dtype.
    #[inline(never)]
    pub const fn output(mut self, dtype: DType) -> Self {
        self.output = OutputRule::Is(dtype);
        self
    }

    /// The dtype that the norm's result is rounded to, by the preset's rule or as [`NormSpec::output`] says.
    pub fn norm_dtype(&self) -> DType {
        match self.output {
            OutputRule::Input => self.input,
            OutputRule::Weight => self.weight.unwrap_or(self.input),
            OutputRule::Promoted => self.input.promote(self.weight.unwrap_or(self.input)),
            OutputRule::HalfWeight => self.weight.filter(|w| w.is_half()).unwrap_or(DType::F32),
            OutputRule::Is(dtype) => dtype,
        }
    }

    /// The dtype that the normalised value is rounded to before the weight, where that loses anything.
    pub fn normalized_dtype(&self) -> Option<DType> {
        match self.cast {
            CastOrder::AfterWeight => None,
            CastOrder::ToInput => Some(self.value_dtype()),
            CastOrder::ToHalfWeight => self.weight,
        }
        .filter(|d| d.is_half())
    }

    /// The weights a model starts from: those that scale every channel by one. Empty without a weight.
    ///
    /// # Errors
    /// Those of [`NormSpec::validate`].
    pub fn initial_weight(&self) -> Result<Values> {
        self.validate()?;
        let length = if self.weight.is_some() { self.weight_length() as usize } else { 0 };
        Ok(Values::round_from(self.weight.unwrap_or(DType::F32), &vec![1.0 - f64::from(self.weight_offset); length]))
    }

    /// The name of what is computed: `rms_norm`, `layer_norm`, `stats` or `apply`, or one of the first two with `_backward`.
    pub fn operation(&self) -> &'static str {
        match self.shard {
            Some(Shard::Stats) => "stats",
            Some(Shard::Apply { .. }) => "apply",
            None if self.backward.is_some() && self.centered => "layer_norm_backward",
            None if self.backward.is_some() => "rms_norm_backward",
            None if self.centered => "layer_norm",
            None => "rms_norm",
        }
    }

    /// The dtype of an operand, `None` where this norm has none.
    pub fn dtype_of(&self, slot: Slot) -> Option<DType> {
        if let Some(backward) = &self.backward {
            return self.dtype_in_backward(backward, slot);
        }
        match slot {
            Slot::Input => Some(self.input),
            Slot::Weight => self.weight,
            Slot::Bias => self.bias,
            Slot::Residual => self.residual_dtype(),
            Slot::Gate => self.gate.map(|gate| gate.dtype),
            Slot::Statistics => self.shards().map(|_| DType::F32),
            Slot::ResidualOut => self.residual_out_dtype(),
            Slot::Rstd => self.rstd.then_some(DType::F32),
            Slot::Scale => self.writes_scale().then_some(DType::F32),
            Slot::Output => Some(self.output_dtype()),
            _ => None,
        }
    }

    /// Elements of an operand: in each of its rows, or, of weight and bias, in all.
    pub const fn length_of(&self, slot: Slot) -> u64 {
        match slot {
            Slot::Weight | Slot::Bias | Slot::GradWeight | Slot::GradBias => self.weight_length(),
            Slot::Rstd | Slot::Scale | Slot::SavedRstd => self.groups,
            Slot::Statistics => match self.shards() {
                Some(shards) => shards.saturating_mul(2),
                None => 0,
            },
            Slot::Output if matches!(self.shard, Some(Shard::Stats)) => 2,
            _ => self.hidden,
        }
    }

    /// Elements from one row of a dense operand to the next. Rows of codes are padded to whole words.
    pub fn dense_stride(&self, slot: Slot) -> u64 {
        let length = self.length_of(slot);
        match self.dtype_of(slot) {
            Some(dtype) if dtype.is_code() => length.saturating_add(3) / 4 * 4,
            _ => length,
        }
    }

    /// The rows of a tensor of this shape: the product of all dimensions but the last.
    ///
    /// # Errors
    /// [`Error::Shape`] for rank 0, a last dimension other than `hidden`, or a product beyond 64 bits.
    pub fn rows_of(&self, shape: &[u64]) -> Result<u64> {
        let Some((&last, leading)) = shape.split_last() else {
            return Err(Error::Shape(Detail::new(
                "shape",
                "at least one dimension",
                "rank 0",
                "normalise a vector of shape [hidden] or more dimensions",
            )));
        };
        if last != self.hidden {
            return Err(Error::Shape(Detail::new(
                "shape",
                format!("a last dimension of hidden = {}", self.hidden),
                format!("{shape:?}"),
                "the last dimension is the one that is normalised",
            )));
        }
        leading
            .iter()
            .try_fold(1u64, |rows, &d| rows.checked_mul(d))
            .and_then(|rows| rows.checked_mul(last).map(|_| rows))
            .ok_or_else(|| {
                Error::Shape(Detail::new("shape", "fewer than 2^64 elements", format!("{shape:?}"), "check the dimensions"))
            })
    }

    /// The rows of `elements` contiguous elements.
    ///
    /// # Errors
    /// [`Error::Shape`] where they are not whole rows.
    pub(crate) fn rows_in(&self, argument: &str, elements: u64) -> Result<u64> {
        if self.hidden == 0 || !elements.is_multiple_of(self.hidden) {
            return Err(Error::Shape(Detail::new(
                argument,
                format!("whole rows of hidden = {} elements", self.hidden),
                format!("{elements} elements"),
                "pad or cut the tensor to whole rows",
            )));
        }
        Ok(elements / self.hidden)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d7_eps_must_be_finite_and_not_negative() {
        for eps in [-1.0, f32::NAN, f32::INFINITY, -f32::MIN_POSITIVE] {
            assert!(matches!(NormSpec::torch(8, eps).validate(), Err(Error::Spec(_))), "{eps}");
        }
        for eps in [0.0, 1e-45, 1e-12, 1e-5, f32::MAX] {
            NormSpec::torch(8, eps).validate().unwrap();
        }
    }

    #[test]
    fn f2_rank_0_and_hidden_0_are_errors() {
        assert!(matches!(NormSpec::torch(0, 1e-5).validate(), Err(Error::Spec(_))));
        assert!(matches!(NormSpec::torch(8, 1e-5).rows_of(&[]), Err(Error::Shape(_))));
    }

    #[test]
    fn g6_every_leading_dimension_is_rows() {
        let spec = NormSpec::torch(8, 1e-5);
        assert_eq!(spec.rows_of(&[2, 3, 8]).unwrap(), 6);
        assert_eq!(spec.rows_of(&[8]).unwrap(), 1);
        assert_eq!(spec.rows_of(&[1, 0, 8]).unwrap(), 0);
        assert!(matches!(spec.rows_of(&[8, 3]), Err(Error::Shape(_))));
    }

    #[test]
    fn b6_a_product_beyond_64_bits_is_an_error() {
        assert!(matches!(NormSpec::torch(8, 1e-5).rows_of(&[1 << 40, 1 << 30, 8]), Err(Error::Shape(_))));
    }

    #[test]
    fn e1_presets_set_the_output_dtype() {
        use DType::{BF16, F16, F32};
        for (preset, input, weight, output) in [
            (Preset::Torch, BF16, F32, BF16),
            (Preset::Llama, BF16, F32, F32),
            (Preset::Llama, F16, BF16, F32),
            (Preset::Llama, BF16, BF16, BF16),
            (Preset::Gemma, F16, F32, F16),
            (Preset::T5, F32, BF16, BF16),
            (Preset::T5, BF16, F32, F32),
            (Preset::Onnx, F32, F16, F16),
        ] {
            assert_eq!(preset.spec(8, 1e-6).input(input).weight(weight).output_dtype(), output, "{preset} {input} {weight}");
        }
    }

    #[test]
    fn weights_start_at_ones() {
        assert_eq!(NormSpec::torch(3, 1e-6).initial_weight().unwrap(), Values::F32(vec![1.0; 3]));
        assert_eq!(NormSpec::gemma(3, 1e-6).initial_weight().unwrap(), Values::F32(vec![0.0; 3]));
    }
}
