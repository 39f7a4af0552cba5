//! The error model for sums with a residual: before the norm, and after it.

use super::model::{Compared, F32_ULP, Mismatch, Outcome, Right, RowStatistics, check, expect_like, note};
use crate::dtype::DType;
use crate::error::{Detail, Error, Result};
use crate::inputs::Inputs;
use crate::outputs::Outputs;
use crate::reference;
use crate::spec::NormSpec;
use crate::values::Slice;

/// Compares everything that a norm wrote with the truth: first a sum that it wrote back, then the output, whose indices count on
/// from the sum's.
///
/// A sum with the residual has one right value: the f32 sum rounded to the residual's dtype, subnormal or not. Where the sum is normalised as it is written back, the result is held to the norm of the sum *as it came*.
///
/// # Errors
/// Those of [`check`].
pub fn check_all(spec: &NormSpec, inputs: &Inputs<'_>, outputs: &Outputs) -> Result<Outcome> {
    let Some(residual) = spec.residual.filter(|_| !spec.adds_after()) else {
        return check(spec, inputs, outputs.output.as_slice());
    };
    let missing = || Detail::new("residual_out", "the sum that the norm writes back", "none", "read it back too");
    let sum = outputs.residual_out.as_ref().ok_or_else(|| Error::Shape(missing()))?;
    let mut outcome = check_sum(spec, inputs, sum.as_slice())?;
    let result = if residual.rounded {
        let of_sum = Inputs { input: sum.as_slice(), residual: None, ..*inputs };
        check(&spec.of_sum(), &of_sum, outputs.output.as_slice())?
    } else {
        check(spec, inputs, outputs.output.as_slice())?
    };
    outcome.merge(&result);
    Ok(outcome)
}

fn check_sum(spec: &NormSpec, inputs: &Inputs<'_>, sum: Slice<'_>) -> Result<Outcome> {
    let truth = reference::residual_sum(spec, inputs)?;
    expect_like(sum, truth.as_slice().dtype(), truth.as_slice().len(), "residual_out")?;
    let mut outcome = Outcome { elements: sum.len(), ..Outcome::default() };
    for index in 0..sum.len() {
        let (got, truth) = (sum.at(index), truth.as_slice().at(index));
        if got.is_nan() && truth.is_nan() {
            outcome.nan += 1;
        } else if got != truth || got.is_sign_negative() != truth.is_sign_negative() {
            note(&mut outcome, Mismatch { index, got, truth, allowed: 0.0 });
        }
    }
    Ok(outcome)
}

/// Compares the sums of normalised rows and a residual. The norm's result may lie anywhere in its own allowance; rounded to its
/// dtype, the sum has one right value for each value that this may be, and is held to the nearest: within one f32 rounding and
/// the last one.
pub(super) fn check_after(spec: &NormSpec, inputs: &Inputs<'_>, residual: Slice<'_>, output: Slice<'_>) -> Result<Outcome> {
    let norm = spec.alone();
    let inputs = Inputs { residual: None, ..*inputs };
    let truth = reference::rms_norm(&norm, &inputs)?;
    expect_like(output, spec.output_dtype(), truth.len(), "output")?;
    let hidden = spec.hidden as usize;
    let values = reference::values(&norm, &inputs);
    let mut outcome = Outcome { elements: truth.len(), ..Outcome::default() };
    for (row, values) in values.chunks_exact(hidden).enumerate() {
        let statistics = RowStatistics::new(&norm, values);
        for (channel, &x) in values.iter().enumerate() {
            let index = row * hidden + channel;
            let element = Compared { index, channel, x, truth: truth[index], got: output.at(index) };
            let right = Right::new(&norm, &inputs, &statistics, &element);
            let lost = |value| right.lost(&norm, &inputs, &statistics, channel, value);
            compare_after(spec, &element, &right, lost, residual.at(index), &mut outcome);
        }
    }
    Ok(outcome)
}

fn compare_after(
    spec: &NormSpec,
    element: &Compared,
    right: &Right,
    lost: impl Fn(f64) -> f64,
    residual: f64,
    outcome: &mut Outcome,
) {
    let (normed, dtype) = (spec.norm_dtype(), spec.output_dtype());
    let Compared { index, truth, got, .. } = *element;
    let exact = normed.round(truth) + residual;
    if exact.is_nan() && got.is_nan() {
        outcome.nan += 1;
        return;
    }
    if exact.is_nan() || got.is_nan() {
        return note(outcome, Mismatch { index, got, truth: exact, allowed: 0.0 });
    }
    outcome.misrounded += usize::from(got != dtype.round(exact));
    let (mut nearest, mut slack) = (exact, 0.0f64);
    for value in right.values {
        let reach = F32_ULP * DType::F32.ulp(value.abs().max(right.bias.abs())) + lost(value);
        // A half result is one of the two that its allowance rounds to; an f32 one is right anywhere in it.
        let ends = if normed.is_half() { [value, value - reach, value + reach] } else { [value; 3] };
        for sum in ends.map(|end| normed.round(end) + residual) {
            if (sum - got).abs() < (nearest - got).abs() {
                nearest = sum;
            }
        }
        slack = slack.max(if normed.is_half() { 0.0 } else { reach });
    }
    let last = if dtype.is_half() { dtype.ulp(nearest) / 2.0 } else { 0.0 };
    let allowed = slack + DType::F32.ulp(nearest) / 2.0 + last;
    let rounded = dtype.round(nearest);
    let error = if rounded.is_infinite() && got == rounded { 0.0 } else { (got - nearest).abs() };
    if error.is_finite() {
        let scale = nearest.abs().max(truth.abs()).max(right.bias.abs());
        outcome.worst_ulp = outcome.worst_ulp.max(error / dtype.ulp(scale));
    }
    if error.is_nan() || error > allowed {
        note(outcome, Mismatch { index, got, truth: nearest, allowed });
    }
}
