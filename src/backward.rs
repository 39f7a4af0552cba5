//! The backward pass of a norm: which gradients come in, and which are found.

use crate::dtype::DType;
use crate::slot::Slot;
use crate::spec::NormSpec;

/// What a backward pass reads and writes beside what its norm reads.
///
/// With `x̂ = x · r` as the forward pass has it (in a LayerNorm `(x - mean) · r`), `g = grad_output · (w + weight_offset)` and means over
/// the row:
///
/// ```text
/// grad_input  = r · (g - x̂ · mean(g · x̂))              (a LayerNorm takes mean(g) off as well)
/// grad_weight = sum over rows of grad_output · x̂
/// grad_bias   = sum over rows of grad_output
/// ```
///
/// Made by [`NormSpec::backward`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Backward {
    /// The dtype of the gradient of what the forward pass wrote.
    pub grad_output: DType,
    /// The dtype of the gradient of the sum that the forward pass wrote back, `None` where nothing else used that sum.
    pub grad_residual_out: Option<DType>,
    /// The dtype of the input's gradient.
    pub grad_input: DType,
    /// The dtype of the gate's gradient, `None` where there is no gate.
    pub grad_gate: Option<DType>,
    /// The dtype of the weight's gradient, `None` where it is not wanted.
    pub grad_weight: Option<DType>,
    /// The dtype of the bias's gradient, `None` where it is not wanted.
    pub grad_bias: Option<DType>,
    /// Whether the scale of each row is read as the forward pass wrote it, rather than found again.
    pub saved_rstd: bool,
    /// Whether the gradients of weight and bias are added to what is there, rather than written over it.
    pub accumulate: bool,
    #[cfg(norms_alone)]
    pub(crate) absent: crate::absent::Absent,
}

impl NormSpec {
    /// The backward pass of this norm (of a backward pass: itself). It works as a norm does: [`Plan`](crate::Plan), `Gpu::norm`,
    /// `Norm::prepare`, `Norm::run_all`.
    ///
    /// - Each operand goes through memory once; what a block of rows needs twice it finds in the caches.
    /// - It reads what the forward pass read, and [`Slot::GradOutput`], in the dtype of what the forward pass wrote. The output is
    ///   the gradient of the input, in the input's dtype. [`Slot::GradWeight`] and [`Slot::GradBias`] have the dtypes of weight and bias.
    /// - Where a residual is added first, the input is the sum *as the forward pass wrote it back*, and the output is the gradient of
    ///   that sum: of the input, and of the residual. [`NormSpec::grad_residual_out`] adds what comes back along the stream.
    /// - A residual that is added after passes its gradient on as it is; only the norm's own is found here.
    /// - A gate has its gradient in [`Slot::GradGate`].
    /// - Definitions that round on the way have the gradient of their own graph: the product with the weight is rounded where the
    ///   normalised value was, and the weight's gradient is that of the rounded value.
    ///
    /// ```
    /// use wgpu_rmsnorm::{DType, Inputs, NormSpec, Slot, reference};
    ///
    /// let spec = NormSpec::torch(2, 0.0).backward();
    /// let (x, w, dy) = ([3.0f32, 4.0], [1.0f32, 1.0], [1.0f32, 0.0]);
    /// let gradients = reference::gradients(&spec, &Inputs::new(&x).weight(&w).grad_output(&dy))?;
    /// // x / sqrt(mean(x²)) does not change along x.
    /// assert!((gradients.input[0] * 3.0 + gradients.input[1] * 4.0).abs() < 1e-15);
    /// // The weight's gradient is the normalised input, where the output has a gradient.
    /// assert!((gradients.weight[0] - 3.0 / 12.5f64.sqrt()).abs() < 1e-15);
    /// assert_eq!(gradients.weight[1], 0.0);
    /// # Ok::<(), wgpu_rmsnorm::Error>(())
    /// ```
    pub fn backward(self) -> Self {
        if self.backward.is_some() {
            return self;
        }
        // Of the sum as it was written, and of the norm before a residual that is added after it.
        let mut spec = if self.residual_out_dtype().is_some() { self.of_sum() } else { self };
        // A sum that was rounded and not normalised so is refused: see `validate`.
        spec.unrounded_sum = self.unrounded_sum && self.sum_is_rounded();
        let grad_output = self.output_dtype();
        spec.residual = None;
        spec.rstd = false;
        spec.backward = Some(Backward {
            grad_output,
            grad_residual_out: None,
            grad_input: spec.input,
            grad_gate: self.gate.map(|gate| gate.dtype),
            grad_weight: self.weight,
            grad_bias: self.bias,
            saved_rstd: false,
            accumulate: false,
            #[cfg(norms_alone)]
            absent: crate::absent::absent(),
        });
        spec
    }

    /// The same backward pass, with the gradient of the sum in `dtype`, which is added in f32 before the one rounding: what comes back
    /// along the residual stream. For the backward pass of [`NormSpec::add_residual`], and of no effect on a norm itself.
    ///
    /// ```
    /// use wgpu_rmsnorm::{DType, NormSpec, Slot};
    ///
    /// let forward = NormSpec::torch(4096, 1e-6).dtype(DType::BF16).add_residual(DType::F32);
    /// let backward = forward.backward().grad_residual_out(DType::F32);
    /// // The input is the sum, in the stream's dtype, and so is its gradient.
    /// assert_eq!((backward.input, backward.output_dtype()), (DType::F32, DType::F32));
    /// assert_eq!(backward.dtype_of(Slot::GradOutput), Some(DType::BF16));
    /// ```
    pub fn grad_residual_out(self, dtype: DType) -> Self {
        self.changed(|backward| backward.grad_residual_out = Some(dtype))
    }

    /// The same backward pass, which reads the scale of each row as the forward pass wrote it ([`NormSpec::rstd`]): a sweep over the
    /// rows less. Of no effect on a norm itself; refused for a LayerNorm, whose mean is found again.
    pub fn saved_rstd(self) -> Self {
        self.changed(|backward| backward.saved_rstd = true)
    }

    /// The same backward pass with the gradients of weight and bias in `dtype`: f32 where half rows are many. Of no effect on a norm
    /// itself.
    pub fn parameter_gradients(self, dtype: DType) -> Self {
        self.changed(|backward| {
            backward.grad_weight = backward.grad_weight.map(|_| dtype);
            backward.grad_bias = backward.grad_bias.map(|_| dtype);
        })
    }

    /// The same backward pass without the gradients of weight and bias. Of no effect on a norm itself.
    pub fn without_parameter_gradients(self) -> Self {
        self.changed(|backward| (backward.grad_weight, backward.grad_bias) = (None, None))
    }

    /// The same backward pass, which adds the gradients of weight and bias to what is there, in f32 before the rounding, rather than
    /// writing them over it. Of no effect on a norm itself.
    pub fn accumulate(self) -> Self {
        self.changed(|backward| backward.accumulate = true)
    }

    fn changed(mut self, change: impl FnOnce(&mut Backward)) -> Self {
        if let Some(backward) = &mut self.backward {
            change(backward);
        }
        self
    }

    /// The dtype of an operand of a backward pass.
    pub(crate) fn dtype_in_backward(&self, backward: &Backward, slot: Slot) -> Option<DType> {
        match slot {
            Slot::Input => Some(self.input),
            Slot::Weight => self.weight,
            // What a gate multiplies has the bias in it.
            Slot::Bias => self.bias.filter(|_| self.output_gate().is_some()),
            Slot::Gate => self.gate.map(|gate| gate.dtype),
            Slot::SavedRstd => backward.saved_rstd.then_some(DType::F32),
            Slot::GradOutput => Some(backward.grad_output),
            Slot::GradResidualOut => backward.grad_residual_out,
            Slot::GradGate => backward.grad_gate,
            Slot::GradWeight => backward.grad_weight,
            Slot::GradBias => backward.grad_bias,
            Slot::Output => Some(backward.grad_input),
            Slot::Residual | Slot::Statistics | Slot::ResidualOut | Slot::Rstd | Slot::Scale => None,
        }
    }

    /// Whether the sum with a residual loses bits as it is written back.
    fn sum_is_rounded(&self) -> bool {
        self.residual_out_dtype().is_some_and(DType::is_half)
    }

    /// Whether an operand is added to, and so is read where it is written.
    pub(crate) fn adds_to(&self, slot: Slot) -> bool {
        slot.is_parameter_gradient() && self.backward.is_some_and(|backward| backward.accumulate)
    }

    /// Whether the sum for the slope of a row is of `g · x`, times the scale at the end, and not of `g · x̂`: where that is the same but for
    /// rounding, and the scale is made of the same elements. (Products with a gate may be beyond f32 before they are scaled.)
    pub(crate) fn sums_values(&self) -> bool {
        !self.centered && !self.gates_input() && self.statistics_length() == self.group_length()
    }

    /// Whether sums over all rows are written.
    pub(crate) fn has_parameter_gradients(&self) -> bool {
        self.backward.is_some_and(|backward| backward.grad_weight.is_some() || backward.grad_bias.is_some())
    }
}
