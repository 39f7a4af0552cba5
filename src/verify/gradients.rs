//! The error model for gradients.
//!
//! Truth is the definition in float64, with the roundings that its graph has in between. Errors are counted in ULP of a scale, the
//! size of the terms that a gradient is the sum of:
//!
//! - The input's: `r · (|g| + |x̂| · mean|g · x̂|)`, in a LayerNorm with `mean|g|`; and what comes along the residual stream. (Here and
//!   below `|x̂|` is at least 1 in a LayerNorm, whose mean may be off by a share of the row's deviation.)
//! - The weight's: the sum over rows of `|d · x̂|`; the bias's: that of `|d|`.
//! - The gate's: the product of magnitudes, that of a sigmoid's derivative as a sum.
//!
//! What is allowed is [`SLOPE_ULP`] of f32 at that scale, [`GATE_ULP`] more behind a gate, and in half types whatever a value within
//! that rounds to. Where a definition rounds on the way and the rounded value may fall to either side, a step of that
//! dtype is allowed. Where terms are beyond f32, so may be what is finite only because they cancel. Numbers below the normal range of f32 may count as zero in rows that are not taken apart; results below it, and what
//! a gate opens to, everywhere.

use super::model::{MIN_NORMAL, Mismatch, Outcome, expect_like};
use super::right::GATE_ULP;
use crate::dtype::DType;
use crate::error::{Detail, Error, Result};
use crate::inputs::Inputs;
use crate::outputs::Outputs;
use crate::reference::{Element, RowSlopes, Slopes};
use crate::slot::Slot;
use crate::spec::NormSpec;
use crate::values::Values;

/// Allowed error of the f32 arithmetic of a gradient, in ULP of its scale: 3 for `x̂`, 1 for `g`, 2 for the mean of their products,
/// 2 for what is left of sums and products.
const SLOPE_ULP: f64 = 8.0;

/// The largest scale of rows that are not taken apart, where products are summed before they are scaled.
const LARGEST_RSTD: f64 = 1_048_576.0;

/// The gradients that a backward pass writes.
const GRADIENTS: [Slot; 4] = [Slot::Output, Slot::GradGate, Slot::GradWeight, Slot::GradBias];

/// A gradient that is right, and how far off it may be before its last rounding.
#[derive(Debug, Clone, Copy, Default)]
struct Grad {
    truth: f64,
    /// The size at which errors arise.
    scale: f64,
    /// What may be off besides.
    slack: f64,
}

/// Compares the gradients that a backward pass wrote with the truth, each for itself: [`Slot::Output`] is that of the input.
///
/// ```
/// use wgpu_rmsnorm::{DType, Inputs, NormSpec, Outputs, Slot, Values, reference, verify};
///
/// let spec = NormSpec::torch(2, 0.0).backward();
/// let inputs = Inputs::new(&[3.0f32, 4.0]).weight(&[1.0f32, 1.0]).grad_output(&[1.0f32, 0.0]);
/// let truth = reference::gradients(&spec, &inputs)?;
/// let rounded = |gradient: &[f64]| Values::round_from(DType::F32, gradient);
/// let found = Outputs::new(rounded(&truth.input)).with(Slot::GradWeight, Some(rounded(&truth.weight)));
/// assert!(verify::check_gradients(&spec, &inputs, &found)?.iter().all(|(_, outcome)| outcome.passed()));
/// # Ok::<(), wgpu_rmsnorm::Error>(())
/// ```
///
/// # Errors
/// Those of [`reference::gradients`](crate::reference::gradients); [`Error::Shape`] or [`Error::DType`] where a gradient is missing,
/// or is not one of this pass.
pub fn check_gradients(spec: &NormSpec, inputs: &Inputs<'_>, outputs: &Outputs) -> Result<Vec<(Slot, Outcome)>> {
    let rows = Slopes::new(spec, inputs)?;
    let start = |truth: f64| Grad { truth, scale: truth.abs(), slack: 0.0 };
    let channels = |slot: Slot| rows.start(slot).into_iter().map(start).collect::<Vec<_>>();
    let mut right = [Vec::new(), Vec::new(), channels(Slot::GradWeight), channels(Slot::GradBias)];
    rows.for_each(|row| {
        let doubt = Doubt::of(&rows, &row);
        for (i, element) in row.elements.iter().enumerate() {
            let value = doubt.value(&rows, &row, i);
            right[0].push(of_input(&rows, element, value, row.first + i));
            if rows.backward.grad_gate.is_some() {
                right[1].push(of_gate(&rows, element, value));
            }
            if let Some(sum) = right[2].get_mut(element.channel) {
                sum.add(of_weight(&rows, element));
            }
            if let Some(sum) = right[3].get_mut(element.channel) {
                sum.add(of_bias(&rows, element));
            }
        }
    });
    let judge = |(slot, right): (Slot, &Vec<Grad>)| {
        let dtype = spec.dtype_of(slot)?;
        Some(written(outputs, slot).and_then(|got| Ok((slot, compare_all(spec, dtype, slot, right, got)?))))
    };
    GRADIENTS.into_iter().zip(&right).filter_map(judge).collect()
}

fn written(outputs: &Outputs, slot: Slot) -> Result<&Values> {
    let missing = || Error::Shape(Detail::new(slot.name(), "a gradient that the pass writes", "none", "read it back too"));
    outputs.get(slot).ok_or_else(missing)
}

/// What is in doubt in a row.
struct Doubt {
    /// Of `g`: a step where a rounding on the way may fall to either side.
    steps: Vec<f64>,
    /// Of the mean of `g · x̂`, and of `g`, for the same reason.
    along: f64,
    level: f64,
    /// Whether numbers below the normal range may count as zero.
    may_flush: bool,
}

impl Doubt {
    fn of(rows: &Slopes<'_>, row: &RowSlopes) -> Self {
        let steps: Vec<f64> = row.elements.iter().map(|element| step_in_doubt(rows, element)).collect();
        let mean = |of: &dyn Fn(usize) -> f64| (0..steps.len()).map(of).sum::<f64>() / row.summed as f64;
        let largest = row.elements.iter().fold(0.0f64, |largest, element| largest.max(element.weighted.abs()));
        Self {
            along: mean(&|i| steps[i] * row.elements[i].normalized.abs()),
            level: if rows.spec.centered { mean(&|i| steps[i]) } else { 0.0 },
            may_flush: row.ordinary && ordinary_gradients(rows.spec).contains(&largest),
            steps,
        }
    }

    /// The gradient of what is normalised.
    fn value(&self, rows: &Slopes<'_>, row: &RowSlopes, i: usize) -> Grad {
        let element = &row.elements[i];
        let is_summed = f64::from(u8::from(i < row.summed));
        let normalized = size_of(rows, element) * is_summed;
        let scale = row.rstd * (element.weighted.abs() + row.level_size + normalized * row.along_size);
        let mut slack = row.rstd * (self.steps[i] + self.level + normalized * self.along);
        if self.may_flush {
            let of_weight = if element.weight.abs() < MIN_NORMAL { element.grad_norm.abs() } else { 0.0 };
            let of_input = row.along_size * row.rstd.max(1.0);
            // Products of g and x are summed before they are scaled, in rows whose scale is at most 2^20.
            let of_products = if rows.spec.sums_values() { row.rstd.clamp(1.0, LARGEST_RSTD) } else { 1.0 };
            slack += row.rstd * MIN_NORMAL * (2.0 + normalized * of_products + of_weight + of_input);
        }
        Grad { truth: row.grad_value(i), scale, slack }
    }
}

/// The largest `g` of rows that are not taken apart, within a factor of two.
fn ordinary_gradients(spec: &NormSpec) -> std::ops::Range<f64> {
    match () {
        () if spec.gates_input() => 2f64.powi(-41)..2f64.powi(61),
        () if spec.sums_values() => 2f64.powi(-65)..2f64.powi(77),
        () => 2f64.powi(-65)..2f64.powi(97),
    }
}

/// The size at which `x̂` may be off: in a LayerNorm the mean may be so by a share of the row's deviation.
fn size_of(rows: &Slopes<'_>, element: &Element) -> f64 {
    let size = element.normalized.abs();
    if rows.spec.centered { size.max(1.0) } else { size }
}

/// A step of the dtype that `g`, or the gradient that it is made of, is rounded to on the way, where that may fall to either side.
fn step_in_doubt(rows: &Slopes<'_>, element: &Element) -> f64 {
    let spec = rows.spec;
    // Behind a gate that is all but shut, the gradient itself is below the normal range.
    let is_lost = spec.output_gate().is_some() && element.grad_norm.abs() < 1.01 * MIN_NORMAL;
    let mut step = if is_lost { element.product.abs() } else { 0.0 };
    if rounds_the_result(spec) {
        step += in_doubt(spec.norm_dtype(), element.grad_output * element.open, GATE_ULP) * element.weight.abs();
    }
    if let Some(dtype) = spec.normalized_dtype() {
        step += in_doubt(dtype, element.product, 2.0) + if step > 0.0 { dtype.ulp(element.product) } else { 0.0 };
    }
    step
}

/// Whether a gated result is rounded to a half dtype before it is gated, and so its gradient.
fn rounds_the_result(spec: &NormSpec) -> bool {
    spec.output_gate().is_some_and(|gate| gate.rounded) && spec.norm_dtype().is_half()
}

fn bias_of(rows: &Slopes<'_>, element: &Element) -> f64 {
    rows.bias.map_or(0.0, |bias| bias.at(element.channel))
}

/// A step of a half dtype where a value, off by some f32 ULP, may be rounded to either side; and all of a value that may be flushed,
/// before it is rounded or after.
fn in_doubt(dtype: DType, value: f64, ulp: f64) -> f64 {
    let off = ulp * DType::F32.ulp(value);
    let may_flush = dtype == DType::BF16 && value.abs() < 1.01 * MIN_NORMAL;
    let flushed = if may_flush { value.abs().max(dtype.round(value).abs()) } else { 0.0 };
    flushed + if dtype.round(value - off) == dtype.round(value + off) { 0.0 } else { dtype.ulp(value) }
}

fn of_input(rows: &Slopes<'_>, element: &Element, value: Grad, index: usize) -> Grad {
    let stream = rows.stream.map_or(0.0, |stream| stream.at(index));
    let open = if rows.spec.gates_input() { element.open.abs() } else { 1.0 };
    Grad {
        truth: rows.to_input(element, value.truth) + stream,
        scale: value.scale * open + stream.abs(),
        // A sum may have lost what was flushed of either.
        slack: value.slack * open + if rows.stream.is_some() { 2.0 * MIN_NORMAL } else { 0.0 },
    }
}

fn of_gate(rows: &Slopes<'_>, element: &Element, value: Grad) -> Grad {
    let spec = rows.spec;
    // The derivative of SiLU is a difference where z is negative.
    let open = 1.0 / (1.0 + (-element.gate).exp());
    let size = element.open_slope.abs().max(open.min(1.0) * (1.0 + element.gate.abs() / (1.0 + element.gate.exp())));
    if spec.gates_input() {
        let input = element.input.abs();
        return Grad {
            truth: rows.to_gate(element, value.truth),
            scale: value.scale * input * size,
            slack: value.slack * input * size,
        };
    }
    let grad = element.grad_output.abs();
    let of_mean = if spec.centered { element.weight.abs() } else { 0.0 };
    let bias = bias_of(rows, element).abs();
    let result = element.result.abs().max(bias).max(of_mean).max((element.stored * element.weight).abs());
    let doubt = spec.normalized_dtype().map_or(0.0, |dtype| in_doubt(dtype, element.normalized, 4.0) * element.weight.abs());
    // Before it is rounded, the result may be off by what `x̂` is, and a rounding more.
    let unrounded = element.stored * element.weight + bias_of(rows, element);
    let off = doubt + 5.0 * DType::F32.ulp(result);
    let step =
        if rounds_the_result(spec) { in_doubt(spec.norm_dtype(), unrounded, off / DType::F32.ulp(unrounded)) } else { 0.0 };
    Grad {
        truth: rows.to_gate(element, value.truth),
        // A result beyond f32 is infinite, whatever the gate makes of it.
        scale: if result > DType::F32.largest() { f64::INFINITY } else { grad * result * size },
        slack: grad * size * (doubt + step + MIN_NORMAL),
    }
}

fn of_weight(rows: &Slopes<'_>, element: &Element) -> Grad {
    let (grad, stored) = (element.grad_norm, element.stored);
    let doubt = rows.spec.normalized_dtype().map_or(0.0, |dtype| in_doubt(dtype, element.normalized, 4.0));
    let of_gradient = gradient_in_doubt(rows, element);
    Grad {
        truth: grad * stored,
        scale: (grad * size_of(rows, element)).abs(),
        slack: doubt * grad.abs() + of_gradient * stored.abs() + MIN_NORMAL * (1.0 + grad.abs() + stored.abs()),
    }
}

fn of_bias(rows: &Slopes<'_>, element: &Element) -> Grad {
    let slack = gradient_in_doubt(rows, element) + MIN_NORMAL;
    Grad { truth: element.grad_norm, scale: element.grad_norm.abs(), slack }
}

/// What the gradient of a gated result may be off by besides: a step of its dtype, and what a gate that is all but shut loses.
fn gradient_in_doubt(rows: &Slopes<'_>, element: &Element) -> f64 {
    let spec = rows.spec;
    if spec.output_gate().is_none() {
        return 0.0;
    }
    let step =
        if rounds_the_result(spec) { in_doubt(spec.norm_dtype(), element.grad_output * element.open, GATE_ULP) } else { 0.0 };
    step + if element.open.abs() < 1.01 * MIN_NORMAL { element.grad_output.abs() * MIN_NORMAL } else { 0.0 }
}

impl Grad {
    fn add(&mut self, other: Grad) {
        self.truth += other.truth;
        self.scale += other.scale;
        self.slack += other.slack;
    }
}

fn compare_all(spec: &NormSpec, dtype: DType, slot: Slot, right: &[Grad], got: &Values) -> Result<Outcome> {
    let got = got.as_slice();
    expect_like(got, dtype, right.len(), slot.name())?;
    let ulp = SLOPE_ULP + if spec.gate.is_some() { 2.0 * GATE_ULP } else { 0.0 };
    let mut outcome = Outcome { elements: got.len(), ..Outcome::default() };
    for (index, right) in right.iter().enumerate() {
        compare(dtype, index, right, ulp, got.at(index), &mut outcome);
    }
    Ok(outcome)
}

fn compare(dtype: DType, index: usize, right: &Grad, ulp: f64, got: f64, outcome: &mut Outcome) {
    let truth = right.truth;
    let edge = 2f64.powi(if dtype == DType::F16 { 16 } else { 128 });
    // Terms beyond f32 are infinite, whatever they would sum to: and so is the sum, or it has no value.
    if right.scale >= 2f64.powi(128) && !truth.is_nan() && !got.is_finite() {
        return;
    }
    if outcome.nan(index, got, truth).is_some() {
        return;
    }
    outcome.misrounded += usize::from(got != dtype.round(truth));
    let scale = truth.abs().max(right.scale);
    let reach = ulp * DType::F32.ulp(scale) + right.slack;
    // Half types round once more: whatever a value within reach rounds to is right.
    let end = |value: f64| match () {
        () if dtype.is_half() => dtype.round(value),
        () if value.abs() >= edge => f64::INFINITY.copysign(value),
        () => value,
    };
    let (low, high) = (end(truth - reach), end(truth + reach));
    let flushed = dtype != DType::F16 && truth.abs() < MIN_NORMAL && got == 0.0;
    let is_normal = scale >= 2f64.powi(dtype.min_exponent()) && scale < edge && right.slack < DType::F32.ulp(scale);
    if is_normal && !flushed {
        let unit = if dtype.is_half() { dtype.ulp(truth).max(DType::F32.ulp(scale)) } else { DType::F32.ulp(scale) };
        outcome.worst_ulp = outcome.worst_ulp.max((got.clamp(-edge, edge) - truth).abs() / unit);
    }
    // So that an end that is no number lets nothing through.
    let is_within = got >= low && got <= high;
    if !is_within && !flushed {
        outcome.note(Mismatch { index, got, truth, allowed: (high - truth).max(truth - low) });
    }
}
