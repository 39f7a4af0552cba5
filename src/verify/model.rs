//! The error model: how far a result may lie from the truth.
//!
//! Truth is the definition in float64, computed from the operands as stored. Errors are counted in ULP of a `scale`, the size at
//! which they arise:
//!
//! - `|y|` in general; with a bias `max(|y|, |b|, |y - b|)`: where `b`, the bias, cancels some of `x · r · w`, an error of the
//!   product is as large beside `y` as the cancellation makes it.
//! - `|w|` too in a LayerNorm: an error of the mean is a share of the row's deviation, the same for all its elements, and so of
//!   `w` in the result. Where its input is gated, the error of the product is one of the product's own size, which the mean may be far
//!   beyond the deviation: 5 ULP of the row's largest value, times `r` and `w`.
//!
//! What is allowed:
//!
//! - f32 output: 4 ULP. A gate on the input adds 5 (for `exp`, a division and two products).
//! - f16 and bf16 output: half an ULP of the output's dtype, for the one rounding, plus the ULP of f32 before it. That is the
//!   correctly rounded value or, where the truth lies close to a rounding boundary, the one next to it;
//!   [`Outcome::misrounded`] counts how often. It is much less than the full ULP that is promised, and tells apart definitions
//!   that differ only in where they round.
//! - Definitions that round the normalised value before the weight: where that value lies within its error of a rounding
//!   boundary, both neighbours are right, and the result is held to the nearer of the two values that follow. They differ by a
//!   step of that dtype times the weight, which in an f32 output is thousands of ULP.
//! - A residual or a gate that follows: one f32 rounding, or 5 ULP of the gated value, more; where the norm's result is rounded
//!   before, there is a right value for each that it may be rounded to.
//! - Results below the normal range of f32 and bf16 may be flushed to a zero of the right sign, as drivers do.
//! - In a row that is not rescued, an element, or a weight, that is subnormal itself or makes `x · r` subnormal may count as
//!   zero. So may, in any row, an `x · r` that is rounded to bf16 before the weight and is subnormal there, and a bias, or a
//!   product that a bias is added to, that is subnormal. Such an element is 2^-80 of the largest in its row, or less.
//!
//! An infinity counts as the first power of two beyond the largest finite number, so that a result at the very edge of the range
//! may fall to either side; a truth clearly beyond must be infinite. NaN is right where the truth is NaN, and nowhere else.

use super::right::{Right, RowOf};
use crate::dtype::DType;
use crate::error::{Detail, Error, Result};
use crate::inputs::Inputs;
use crate::spec::NormSpec;
use crate::values::Slice;

/// The smallest normal f32.
pub(super) const MIN_NORMAL: f64 = f32::MIN_POSITIVE as f64;

/// An element that is too far off.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Mismatch {
    /// Its index in the output.
    pub index: usize,
    /// What came.
    pub got: f64,
    /// The truth.
    pub truth: f64,
    /// How far off it may be.
    pub allowed: f64,
}

/// What the comparison of an output with the truth found.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Outcome {
    /// Elements compared.
    pub elements: usize,
    /// Elements beyond the error model.
    pub wrong: usize,
    /// The largest distance from the (nearest) right value, in ULP of the output's dtype at `scale` (of codes: in steps between
    /// them), over the elements whose right value is finite and not below the normal range, and where nothing may have been
    /// flushed to zero on the way.
    pub worst_ulp: f64,
    /// The same of numbers that are f32 whatever the norm's dtypes: the scales of rows and of codes.
    pub worst_scale_ulp: f64,
    /// Elements that differ from the correctly rounded truth.
    pub misrounded: usize,
    /// Elements that are NaN, as they must be.
    pub nan: usize,
    /// The first few elements beyond the model.
    pub mismatches: Vec<Mismatch>,
}

impl Outcome {
    /// Whether every element is within the model.
    pub fn passed(&self) -> bool {
        self.wrong == 0
    }

    /// Adds the outcome of the elements that follow: their indices count on.
    pub fn merge(&mut self, other: &Outcome) {
        let shift = self.elements;
        self.elements += other.elements;
        self.wrong += other.wrong;
        self.worst_ulp = self.worst_ulp.max(other.worst_ulp);
        self.worst_scale_ulp = self.worst_scale_ulp.max(other.worst_scale_ulp);
        self.misrounded += other.misrounded;
        self.nan += other.nan;
        let room = MOST_MISMATCHES.saturating_sub(self.mismatches.len());
        self.mismatches.extend(other.mismatches.iter().take(room).map(|m| Mismatch { index: shift + m.index, ..m.clone() }));
    }

    pub(super) fn note(&mut self, mismatch: Mismatch) {
        self.wrong += 1;
        if self.mismatches.len() < MOST_MISMATCHES {
            self.mismatches.push(mismatch);
        }
    }

    /// Counts a NaN that is right, or notes one that is not. `None` where there is none.
    pub(super) fn nan(&mut self, index: usize, got: f64, truth: f64) -> Option<()> {
        match (got.is_nan(), truth.is_nan()) {
            (false, false) => return None,
            (true, true) => self.nan += 1,
            _ => self.note(Mismatch { index, got, truth, allowed: 0.0 }),
        }
        Some(())
    }
}

const MOST_MISMATCHES: usize = 5;

/// Compares an output with the truth.
///
/// ```
/// use wgpu_rmsnorm::{Inputs, NormSpec, verify};
///
/// let spec = NormSpec::torch(2, 0.0).without_weight();
/// let x = [3.0f32, 4.0];
/// let good = verify::check(&spec, &Inputs::new(&x), (&[0.84852814f32, 1.1313709]).into())?;
/// assert!(good.passed());
/// let bad = verify::check(&spec, &Inputs::new(&x), (&[0.8486f32, 1.1313709]).into())?;
/// assert_eq!(bad.wrong, 1);
/// # Ok::<(), wgpu_rmsnorm::Error>(())
/// ```
///
/// # Errors
/// Those of [`Inputs::validate`]; [`Error::Shape`] or [`Error::DType`] where the output is not one of this norm; and
/// [`Error::Shape`] for a norm whose codes cannot be judged without their scales, and for a backward pass:
/// [`check_all`](super::check_all) takes all that is written.
pub fn check(spec: &NormSpec, inputs: &Inputs<'_>, output: Slice<'_>) -> Result<Outcome> {
    let rows = inputs.validate(spec)?;
    if spec.backward.is_some() {
        let remedy = "pass all gradients to verify::check_gradients";
        return Err(Error::Shape(Detail::new("spec", "a norm", "its backward pass", remedy)));
    }
    if spec.writes_scale() {
        let remedy = "pass codes and scales to verify::check_all";
        return Err(Error::Shape(Detail::new("scale", "the scales of the codes", "none", remedy)));
    }
    expect_like(output, spec.output_dtype(), (rows * spec.length_of(crate::slot::Slot::Output)) as usize, "output")?;
    if spec.is_stats() {
        return super::beside::check_statistics(spec, inputs, output);
    }
    if let Some(scale) = spec.quantized.and_then(|quantized| quantized.scale) {
        let groups = rows * spec.groups;
        return super::beside::check_codes(spec, inputs, output, &vec![f64::from(scale); groups as usize]);
    }
    let mut outcome = Outcome::default();
    RowOf::new(spec, inputs).for_each(|index, right| compare(spec, index, &right, output.at(index), &mut outcome));
    Ok(outcome)
}

/// Checks that what was read back can be what a norm writes.
pub(super) fn expect_like(got: Slice<'_>, dtype: DType, elements: usize, argument: &str) -> Result<()> {
    if got.dtype() != dtype {
        let remedy = "read it back in the dtype that the norm writes";
        return Err(Error::DType(Detail::new(argument, dtype.name(), got.dtype().name(), remedy)));
    }
    if got.len() != elements {
        let expected = format!("{elements} elements");
        return Err(Error::Shape(Detail::new(argument, expected, got.len().to_string(), "read back every row")));
    }
    Ok(())
}

fn compare(spec: &NormSpec, index: usize, right: &Right, got: f64, outcome: &mut Outcome) {
    let (dtype, truth) = (spec.output_dtype(), right.truth);
    outcome.elements += 1;
    if outcome.nan(index, got, truth).is_some() {
        return;
    }
    outcome.misrounded += usize::from(got != dtype.round(truth));
    let edge = 2f64.powi(if dtype == DType::F16 { 16 } else { 128 });
    let nearest = right.nearest(got, |value| if dtype.is_half() { dtype.ulp(value) / 2.0 } else { 0.0 });
    let scale = nearest.value.abs().max(right.scale).min(edge / 2.0);
    let ulp = dtype.ulp(scale);
    let allowed = nearest.reach + if dtype.is_half() { ulp / 2.0 } else { 0.0 };
    // Beyond the edge of the range by more than that, only infinity is right; up to it, infinity counts as the edge.
    let wrong = if nearest.value.abs() > edge + allowed {
        got != f64::INFINITY.copysign(nearest.value)
    } else {
        let error = (got.clamp(-edge, edge) - nearest.value).abs();
        let is_normal = nearest.value.abs() >= 2f64.powi(dtype.min_exponent()) && nearest.value.abs() < edge;
        if right.lost == 0.0 && is_normal {
            outcome.worst_ulp = outcome.worst_ulp.max(error / ulp);
        }
        let flushable = right.may_flush && dtype != DType::F16 && truth.abs() < MIN_NORMAL;
        let sign_lost = right.keeps_sign && got == 0.0 && truth != 0.0 && got.is_sign_negative() != truth.is_sign_negative();
        sign_lost || (error > allowed && !(flushable && got == 0.0))
    };
    if wrong {
        outcome.note(Mismatch { index, got, truth: nearest.value, allowed });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::Values;

    /// The right one of two candidates is judged with its own last rounding: at a binade's edge the steps differ.
    #[test]
    fn a_value_that_rounds_down_to_a_power_of_two_is_right() {
        let spec = NormSpec::torch(1, 0.0).input(DType::F32).output(DType::BF16);
        let exact = 0.015_678_8f32;
        let judge = |got: f64| {
            let (w, y) = ([exact], Values::round_from(DType::BF16, &[got]));
            check(&spec, &Inputs::new(&[1.0f32]).weight(&w), y.as_slice()).unwrap().passed()
        };
        assert!(judge(f64::from(exact)) && !judge(0.0155));
        let right = Right::of([0.015_678_8, 0.015_582_1]);
        assert_eq!(right.nearest(0.015_625, |value| DType::BF16.ulp(value) / 2.0).value, 0.015_678_8);
    }

    fn wrong(spec: NormSpec, x: &[f32], y: &[f32]) -> usize {
        check(&spec.without_weight().without_bias(), &Inputs::new(x), y.into()).unwrap().wrong
    }

    #[test]
    fn every_rule_can_fail() {
        let spec = NormSpec::torch(2, 0.0);
        // Ordinary numbers: 4 ULP, and no more.
        let one = 1.0f32;
        assert_eq!(wrong(spec, &[1.0, 1.0], &[one, one + 4.0 * f32::EPSILON]), 0);
        assert_eq!(wrong(spec, &[1.0, 1.0], &[one, one + 5.0 * f32::EPSILON]), 1);
        // Zero rows: zero, whatever the preset rounds in between.
        assert_eq!(wrong(NormSpec::llama(2, 0.0), &[0.0, 0.0], &[0.0, 1.0]), 1);
        // Subnormal results: exact or a zero of the right sign.
        let tiny = [1.0f32, -1e-40];
        let y = (2f64 / (1.0 + 1e-80)).sqrt();
        assert_eq!(wrong(spec, &tiny, &[y as f32, (-1e-40 * y) as f32]), 0);
        assert_eq!(wrong(spec, &tiny, &[y as f32, -0.0]), 0);
        assert_eq!(wrong(spec, &tiny, &[y as f32, 0.0]), 1);
        // NaN: where the truth has one, and nowhere else.
        assert_eq!(wrong(spec, &[f32::NAN, 1.0], &[f32::NAN, f32::NAN]), 0);
        assert_eq!(wrong(spec, &[f32::NAN, 1.0], &[f32::NAN, 1.0]), 1);
        assert_eq!(wrong(spec, &[1.0, 1.0], &[1.0, f32::NAN]), 1);
        // LayerNorm: 4 ULP of 1 where the result is close to the mean, for the mean may be so far off.
        let layer = NormSpec::layer_norm(3, 0.0);
        let y = 1.5f64.sqrt() as f32;
        assert_eq!(wrong(layer, &[1.0, 2.0, 3.0], &[-y, 4.0 * f32::EPSILON, y]), 0);
        assert_eq!(wrong(layer, &[1.0, 2.0, 3.0], &[-y, 5.0 * f32::EPSILON, y]), 1);
    }

    #[test]
    fn the_edge_of_the_range_is_an_edge() {
        let spec = NormSpec::torch(1, 0.0);
        let weighted = |w: f64, y: f64| {
            let (x, w) = ([1.0f32], [w as f32]);
            let (spec, y) = (spec.output(DType::F16), Values::round_from(DType::F16, &[y]));
            check(&spec, &Inputs::new(&x).weight(&w), y.as_slice()).unwrap().passed()
        };
        assert!(weighted(65504.0, 65504.0) && !weighted(65504.0, f64::INFINITY));
        assert!(weighted(65520.0, f64::INFINITY) && weighted(65519.0, 65504.0));
        assert!(weighted(1e6, f64::INFINITY) && !weighted(1e6, 65504.0) && !weighted(-1e6, f64::INFINITY));
    }

    #[test]
    fn a_backward_pass_is_judged_by_its_gradients() {
        let ones = [1f32; 8];
        let inputs = Inputs::new(&ones).weight(&ones).grad_output(&ones);
        let error = check(&NormSpec::torch(8, 1e-6).backward(), &inputs, (&ones).into()).unwrap_err().to_string();
        assert!(error.contains("verify::check_gradients"), "{error}");
    }
}
