//! The error model for what is written beside a norm's rows, and in their place: sums, scales, codes, statistics.

use super::gradients::check_gradients;
use super::model::{MIN_NORMAL, Mismatch, Outcome, check, expect_like};
use super::right::{Right, RowOf, f32_ulp};
use crate::dtype::DType;
use crate::error::{Detail, Error, Result};
use crate::inputs::Inputs;
use crate::outputs::Outputs;
use crate::reference;
use crate::slot::Slot;
use crate::spec::NormSpec;
use crate::values::{Slice, Values};

/// Two f32 roundings: a scale is a result times one over the largest code.
const SCALE_ULP: f64 = 2.0;

/// Compares everything that a norm wrote with the truth: first a sum that it wrote back, then the scales of rows and of codes,
/// then the output; indices count through.
///
/// - A sum with the residual has one right value: the f32 sum rounded to the residual's dtype, subnormal or not. Where the sum is
///   normalised as it is written back, the result is held to the norm of the sum *as it came*.
/// - Gradients are held to [`check_gradients`].
/// - `rstd` lies within the ULP of the norm's f32 arithmetic; where a LayerNorm's input is gated, also within what the error of
///   the product makes of it.
/// - A scale of codes may be off by what its row's results may be, and 2 ULP. Codes are held to the scale *as it came*: half a
///   step, and what the result may be off by, in steps.
///
/// # Errors
/// Those of [`check`].
pub fn check_all(spec: &NormSpec, inputs: &Inputs<'_>, outputs: &Outputs) -> Result<Outcome> {
    let mut all = Outcome::default();
    check_each(spec, inputs, outputs)?.iter().for_each(|(_, of_one)| all.merge(of_one));
    Ok(all)
}

/// The same, each operand by itself, in the same order. A scale of codes is judged with them.
pub(super) fn check_each(spec: &NormSpec, inputs: &Inputs<'_>, outputs: &Outputs) -> Result<Vec<(Slot, Outcome)>> {
    inputs.validate(spec)?;
    if spec.backward.is_some() {
        return check_gradients(spec, inputs, outputs);
    }
    let mut each = Vec::new();
    let (mut of, mut normalised) = (*spec, *inputs);
    if spec.residual_out_dtype().is_some() {
        let sum = written(outputs, Slot::ResidualOut)?;
        each.push((Slot::ResidualOut, check_sum(spec, inputs, sum.as_slice())?));
        if !spec.unrounded_sum {
            of = spec.of_sum();
            normalised = inputs.with(Slot::Input, Some(sum.as_slice())).with(Slot::Residual, None);
        }
    }
    if of.rstd {
        each.push((Slot::Rstd, check_rstd(&of, &normalised, written(outputs, Slot::Rstd)?.as_slice())?));
    }
    let output = outputs.output().as_slice();
    let outcome = match of.writes_scale() {
        true => check_codes(&of, &normalised, output, &written(outputs, Slot::Scale)?.as_slice().widen())?,
        false => check(&of, &normalised, output)?,
    };
    each.push((Slot::Output, outcome));
    Ok(each)
}

fn written(outputs: &Outputs, slot: Slot) -> Result<&Values> {
    let missing = || Detail::new(slot.name(), "what the norm writes beside the output", "none", "read it back too");
    outputs.get(slot).ok_or_else(|| Error::Shape(missing()))
}

fn check_sum(spec: &NormSpec, inputs: &Inputs<'_>, sum: Slice<'_>) -> Result<Outcome> {
    let truth = reference::residual_sum(spec, inputs)?;
    expect_like(sum, truth.as_slice().dtype(), truth.as_slice().len(), "residual_out")?;
    let mut outcome = Outcome { elements: sum.len(), ..Outcome::default() };
    for index in 0..sum.len() {
        let (got, truth) = (sum.at(index), truth.as_slice().at(index));
        if outcome.nan(index, got, truth).is_none() && (got != truth || got.is_sign_negative() != truth.is_sign_negative()) {
            outcome.note(Mismatch { index, got, truth, allowed: 0.0 });
        }
    }
    Ok(outcome)
}

fn check_rstd(spec: &NormSpec, inputs: &Inputs<'_>, rstd: Slice<'_>) -> Result<Outcome> {
    expect_like(rstd, DType::F32, inputs.input().len() / spec.group_length() as usize, "rstd")?;
    let mut outcome = Outcome { elements: rstd.len(), ..Outcome::default() };
    RowOf::new(spec, inputs).for_each_rstd(|index, truth, allowed| {
        compare_f32(index, rstd.at(index), truth, allowed, &mut outcome);
    });
    Ok(outcome)
}

/// Compares a number that is f32 whatever the norm's dtypes.
fn compare_f32(index: usize, got: f64, truth: f64, allowed: f64, outcome: &mut Outcome) {
    if outcome.nan(index, got, truth).is_some() {
        return;
    }
    let largest = f64::from(f32::MAX);
    let error = (got - truth).abs();
    let flushed = got == 0.0 && truth.abs() < MIN_NORMAL;
    let infinite = got == f64::INFINITY && truth + allowed > largest;
    if truth >= MIN_NORMAL && truth <= largest && error.is_finite() {
        outcome.worst_scale_ulp = outcome.worst_scale_ulp.max(error / DType::F32.ulp(truth));
    }
    if error > allowed && !flushed && !infinite {
        outcome.note(Mismatch { index, got, truth, allowed });
    }
}

/// Compares codes and their scales, one for every row (every group of one).
pub(super) fn check_codes(spec: &NormSpec, inputs: &Inputs<'_>, codes: Slice<'_>, scales: &[f64]) -> Result<Outcome> {
    let group = spec.group_length() as usize;
    let (dtype, is_dynamic) = (spec.output_dtype(), spec.writes_scale());
    expect_like(codes, dtype, inputs.input().len(), "output")?;
    if scales.len() * group != codes.len() {
        let expected = format!("{} scales", codes.len() / group);
        return Err(Error::Shape(Detail::new("scale", expected, scales.len().to_string(), "read back every row")));
    }
    let mut outcome = Outcome { elements: codes.len(), ..Outcome::default() };
    let (mut largest, mut reach) = (0.0f64, 0.0f64);
    RowOf::new(spec, inputs).for_each(|index, right| {
        let row = index / group;
        compare_code(spec, index, &right, codes.at(index), scales[row], &mut outcome);
        largest = if right.truth.is_nan() || largest.is_nan() { f64::NAN } else { largest.max(right.truth.abs()) };
        reach = reach.max(right.reach());
        if (index + 1).is_multiple_of(group) {
            if is_dynamic {
                compare_scale(row, scales[row], largest, reach, dtype.largest(), &mut outcome);
            }
            (largest, reach) = (0.0, 0.0);
        }
    });
    Ok(outcome)
}

fn compare_scale(row: usize, got: f64, largest: f64, reach: f64, largest_code: f64, outcome: &mut Outcome) {
    outcome.elements += 1;
    // Codes are those of the f32 result: beyond f32 it is infinite, and so is its scale.
    let beyond = largest + reach > DType::F32.largest();
    if beyond && got == f64::INFINITY {
        return;
    }
    let truth = match largest {
        0.0 => 1.0,
        _ if largest - reach > DType::F32.largest() => f64::INFINITY,
        _ if largest.is_nan() => f64::NAN,
        _ => (largest / largest_code).max(MIN_NORMAL),
    };
    let allowed = reach / largest_code + SCALE_ULP * DType::F32.ulp(truth);
    // What may be flushed to a row of zeros has their scale.
    if got == 1.0 && (largest < MIN_NORMAL || largest <= reach) {
        return;
    }
    compare_f32(row, got, truth, allowed, outcome);
}

fn compare_code(spec: &NormSpec, index: usize, right: &Right, got: f64, scale: f64, outcome: &mut Outcome) {
    let dtype = spec.output_dtype();
    // A result beyond f32, or none at all, has no code: 0 among whole numbers, NaN else.
    if right.truth.is_nan() || !scale.is_finite() {
        let fits = if dtype == DType::I8 { got == 0.0 } else { got.is_nan() || got == 0.0 };
        if !fits {
            outcome.note(Mismatch { index, got, truth: f64::NAN, allowed: 0.0 });
        }
        outcome.nan += usize::from(fits);
        return;
    }
    let nearest = right.nearest(got * scale, |value| dtype.ulp(value / scale) * scale / 2.0);
    let result = if nearest.value.abs() > DType::F32.largest() { DType::F32.round(nearest.value) } else { nearest.value };
    let truth = (result / scale).clamp(-dtype.largest(), dtype.largest());
    let step = dtype.ulp(truth);
    // A result below the normal range may be flushed before it becomes a code.
    let flushed = if nearest.value.abs() < MIN_NORMAL { nearest.value.abs() } else { 0.0 };
    let allowed = step / 2.0 + (nearest.reach + flushed) / scale + SCALE_ULP * DType::F32.ulp(truth);
    let error = (got - truth).abs();
    outcome.misrounded += usize::from(got != dtype.round(truth));
    if right.lost == 0.0 && flushed == 0.0 {
        outcome.worst_ulp = outcome.worst_ulp.max(error / step);
    }
    if error.is_nan() || error > allowed {
        outcome.note(Mismatch { index, got, truth, allowed });
    }
}

/// Compares statistics with the sums of squares that they stand for: twice the ULP of a norm, whose root halves them.
pub(super) fn check_statistics(spec: &NormSpec, inputs: &Inputs<'_>, output: Slice<'_>) -> Result<Outcome> {
    let truth = reference::stats(spec, inputs)?;
    let mut outcome = Outcome::default();
    for (row, pair) in truth.chunks_exact(2).enumerate() {
        outcome.elements += 2;
        let (sum, exponent) = (output.at(2 * row), output.at(2 * row + 1));
        if outcome.nan(2 * row, sum, pair[0]).is_some() {
            continue;
        }
        let at = |exponent: f64| 4f64.powf(exponent - pair[1]);
        let got = if sum == 0.0 || sum == f64::INFINITY { sum } else { sum * at(exponent) };
        let allowed = 2.0 * f32_ulp(spec) * DType::F32.ulp(pair[0]);
        let plain = exponent == 0.0 && sum >= 2f64.powi(-64);
        // An exponent is a whole number in f32's range, and there where the sum needs it.
        let needs_one = pair[1] != 0.0 || pair[0] - allowed < 2f64.powi(-64) || pair[0] + allowed > f64::from(f32::MAX);
        let exponent_is_right = exponent.fract() == 0.0 && exponent.abs() <= 149.0 && (plain || needs_one || sum == pair[0]);
        if pair[0].is_finite() {
            outcome.worst_ulp = outcome.worst_ulp.max((got - pair[0]).abs() / DType::F32.ulp(pair[0]) / 2.0);
        }
        let fits = got == pair[0] || (got - pair[0]).abs() <= allowed;
        if !(fits && exponent_is_right) {
            outcome.note(Mismatch { index: 2 * row, got, truth: pair[0], allowed });
        }
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_scale_or_code_is_noticed() {
        let spec = NormSpec::torch(4, 0.0).without_weight().quantized(DType::I8);
        let x = [1.0f32, -2.1, 0.5, 4.0];
        let inputs = Inputs::new(&x);
        let (codes, scales) = reference::quantized(&spec, &inputs).unwrap();
        let judge = |codes: &[f64], scale: f64| {
            let outputs = Outputs::new(Values::round_from(DType::I8, codes));
            let outputs = outputs.with(Slot::Scale, Some(Values::round_from(DType::F32, &[scale])));
            check_all(&spec, &inputs, &outputs).unwrap().wrong
        };
        assert_eq!(judge(&codes, scales[0]), 0);
        assert_eq!(judge(&codes, scales[0] * 1.00001), 1);
        for index in 0..4 {
            let mut wrong = codes.clone();
            wrong[index] -= 1.0;
            assert_eq!(judge(&wrong, scales[0]), 1, "code {index}");
        }
    }

    #[test]
    fn a_wrong_statistic_is_noticed() {
        let spec = NormSpec::torch(3, 0.0).stats();
        let judge = |x: &[f32], sum: f32, exponent: f32| check(&spec, &Inputs::new(x), (&[sum, exponent]).into()).unwrap().wrong;
        assert_eq!((judge(&[1.0, 2.0, 2.0], 9.0, 0.0), judge(&[1.0, 2.0, 2.0], 9.0001, 0.0)), (0, 1));
        assert_eq!((judge(&[1e30; 3], 2.0, 99.0), judge(&[0.0; 3], 1.0, 0.0)), (1, 1));
        let sum = reference::stats(&spec, &Inputs::new(&[1e30f32; 3])).unwrap();
        assert_eq!(judge(&[1e30; 3], sum[0] as f32, sum[1] as f32), 0);
        assert_eq!(judge(&[1e30; 3], (sum[0] * 4.0) as f32, sum[1] as f32 - 1.0), 0, "the same number");
    }

    #[test]
    fn a_wrong_rstd_is_noticed() {
        let spec = NormSpec::torch(2, 0.0).without_weight().rstd();
        let x = [2.0f32, 2.0];
        let judge = |rstd: f32| {
            let rstd = Some(Values::round_from(DType::F32, &[f64::from(rstd)]));
            let outputs = Outputs::new(Values::round_from(DType::F32, &[1.0, 1.0])).with(Slot::Rstd, rstd);
            check_all(&spec, &Inputs::new(&x), &outputs).unwrap().wrong
        };
        assert_eq!((judge(0.5), judge(0.50001), judge(f32::NAN), judge(f32::INFINITY)), (0, 1, 1, 1));
    }
}
