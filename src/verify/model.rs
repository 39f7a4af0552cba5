//! The error model: how far a result may lie from the truth.
//!
//! Truth is the definition in float64, computed from the operands as stored. With `scale = max(|y|, |b|)` (where `b`, the bias,
//! cancels most of `x · r · w`, an error of the product is as large beside `y` as the cancellation makes it):
//!
//! - f32 output: 4 ULP of `scale`.
//! - f16 and bf16 output: half an ULP of the output's dtype, for the one rounding, plus the 4 ULP of f32 before it. That is the
//!   correctly rounded value or, where the truth lies close to a rounding boundary, the one next to it;
//!   [`Outcome::misrounded`] counts how often. It is much less than the full ULP that is promised, and tells apart definitions
//!   that differ only in where they round.
//! - Definitions that round the normalised value before the weight: where that value lies within 4 ULP (f32) of a rounding
//!   boundary, both neighbours are right, and the result is held to the nearer of the two values that follow. They differ by a
//!   step of that dtype times the weight, which in an f32 output is thousands of ULP.
//! - Results below the normal range of f32 and bf16 may be flushed to a zero of the right sign, as drivers do.
//! - In a row that is not rescued, an element, or a weight, that is subnormal itself or makes `x · r` subnormal may count as
//!   zero. So may, in any row, an `x · r` that is rounded to bf16 before the weight and is subnormal there, and a bias, or a
//!   product that a bias is added to, that is subnormal. Such an element is 2^-80 of the largest in its row, or less.
//!
//! An infinity counts as the first power of two beyond the largest finite number, so that a result at the very edge of the range
//! may fall to either side; a truth clearly beyond must be infinite. NaN is right where the truth is NaN, and nowhere else.

use super::sums;
use crate::dtype::DType;
use crate::error::{Detail, Error, Result};
use crate::inputs::Inputs;
use crate::reference;
use crate::spec::NormSpec;
use crate::values::Slice;

/// Allowed error of the f32 arithmetic, in ULP.
pub(super) const F32_ULP: f64 = 4.0;
/// Sums of squares from here up are taken as they are; smaller ones are rescued.
const ORDINARY_SQUARES: f64 = 1.0 / (1u64 << 63) as f64 / 2.0;
/// The smallest normal f32.
const MIN_NORMAL: f64 = f32::MIN_POSITIVE as f64;

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
    /// The largest distance from the (nearest) right value, in ULP of the output's dtype at `scale`, over the elements whose
    /// right value is finite and not below the normal range, and where nothing may have been flushed to zero on the way.
    pub worst_ulp: f64,
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
        self.misrounded += other.misrounded;
        self.nan += other.nan;
        let room = MOST_MISMATCHES.saturating_sub(self.mismatches.len());
        self.mismatches.extend(other.mismatches.iter().take(room).map(|m| Mismatch { index: shift + m.index, ..m.clone() }));
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
/// Those of [`Inputs::validate`], and [`Error::Shape`] or [`Error::DType`] where the output is not one of this norm.
pub fn check(spec: &NormSpec, inputs: &Inputs<'_>, output: Slice<'_>) -> Result<Outcome> {
    inputs.validate(spec)?;
    if let Some(residual) = inputs.residual.filter(|_| spec.adds_after()) {
        return sums::check_after(spec, inputs, residual, output);
    }
    let truth = reference::rms_norm(spec, inputs)?;
    expect_like(output, spec.output_dtype(), truth.len(), "output")?;
    let hidden = spec.hidden as usize;
    let mut outcome = Outcome::default();
    let values = reference::values(spec, inputs);
    for (row, values) in values.chunks_exact(hidden).enumerate() {
        let statistics = RowStatistics::new(spec, values);
        for (channel, &x) in values.iter().enumerate() {
            let index = row * hidden + channel;
            let element = Compared { index, channel, x, truth: truth[index], got: output.at(index) };
            compare(spec, inputs, &statistics, &element, &mut outcome);
        }
    }
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

/// What the model needs to know of a row.
pub(super) struct RowStatistics {
    rstd: f64,
    rescued: bool,
}

impl RowStatistics {
    pub(super) fn new(spec: &NormSpec, values: &[f64]) -> Self {
        let squares: f64 = values.iter().map(|x| x * x).sum();
        let rstd = 1.0 / (squares / spec.hidden as f64 + f64::from(spec.eps)).sqrt();
        // A zero row with eps 0 stays zero. (An infinite scale would make its allowance a NaN, which nothing exceeds.)
        let rstd = if rstd == f64::INFINITY { 0.0 } else { rstd };
        // Close to the threshold either may be: the strict side is taken for what is clearly below or above.
        let ordinary = squares >= ORDINARY_SQUARES && squares <= f64::from(f32::MAX) * 1.01;
        Self { rstd, rescued: !ordinary }
    }
}

/// An element that is compared.
pub(super) struct Compared {
    pub index: usize,
    pub channel: usize,
    /// What is normalised.
    pub x: f64,
    pub truth: f64,
    pub got: f64,
}

fn compare(spec: &NormSpec, inputs: &Inputs<'_>, row: &RowStatistics, element: &Compared, outcome: &mut Outcome) {
    let Compared { index, channel, truth, got, .. } = *element;
    let dtype = spec.output_dtype();
    outcome.elements += 1;
    if truth.is_nan() || got.is_nan() {
        if truth.is_nan() && got.is_nan() {
            outcome.nan += 1;
        } else {
            note(outcome, Mismatch { index, got, truth, allowed: 0.0 });
        }
        return;
    }
    let rounded = dtype.round(truth);
    if got != rounded {
        outcome.misrounded += 1;
    }
    let edge = 2f64.powi(if dtype == DType::F16 { 16 } else { 128 });
    let flushable = dtype != DType::F16 && truth.abs() < MIN_NORMAL;
    let right = Right::new(spec, inputs, row, element);
    let nearest = right.nearest(got);
    let (bias, lost) = (right.bias, right.lost(spec, inputs, row, channel, nearest));

    let scale = nearest.abs().max(bias.abs()).min(edge / 2.0);
    let ulp = dtype.ulp(scale);
    let allowed = lost + F32_ULP * DType::F32.ulp(scale) + if dtype.is_half() { ulp / 2.0 } else { 0.0 };
    // Beyond the edge of the range by more than that, only infinity is right; up to it, infinity counts as the edge.
    let wrong = if nearest.abs() > edge + allowed {
        got != f64::INFINITY.copysign(nearest)
    } else {
        let error = (got.clamp(-edge, edge) - nearest).abs();
        if lost == 0.0 && nearest.abs() >= 2f64.powi(dtype.min_exponent()) && nearest.abs() < edge {
            outcome.worst_ulp = outcome.worst_ulp.max(error / ulp);
        }
        let sign_lost = got == 0.0 && truth != 0.0 && bias == 0.0 && got.is_sign_negative() != truth.is_sign_negative();
        sign_lost || (error > allowed && !(flushable && got == 0.0))
    };
    if wrong {
        note(outcome, Mismatch { index, got, truth: nearest, allowed });
    }
}

/// The values that are right for an element, before the last rounding.
pub(super) struct Right {
    /// One, or where the value before the weight may round either way, up to three.
    pub values: [f64; 3],
    x: f64,
    normalized: f64,
    weight: f64,
    pub bias: f64,
}

impl Right {
    pub(super) fn new(spec: &NormSpec, inputs: &Inputs<'_>, row: &RowStatistics, element: &Compared) -> Self {
        let weight = inputs.weight.map_or(1.0, |w| w.at(element.channel) + f64::from(spec.weight_offset));
        let bias = inputs.bias.map_or(0.0, |b| b.at(element.channel));
        let normalized = element.x * row.rstd;
        let values = neighbours(spec, normalized).map(|step| element.truth + step * weight);
        Self { values, x: element.x, normalized, weight, bias }
    }

    fn nearest(&self, got: f64) -> f64 {
        let [mut nearest, others @ ..] = self.values;
        for other in others {
            if (other - got).abs() < (nearest - got).abs() {
                nearest = other;
            }
        }
        nearest
    }

    pub(super) fn lost(&self, spec: &NormSpec, inputs: &Inputs<'_>, row: &RowStatistics, channel: usize, value: f64) -> f64 {
        let Right { x, normalized, weight, bias, .. } = *self;
        vanishing(spec, inputs, row, channel, &Element { x, normalized, weight, bias, product: value - bias })
    }
}

/// How far the right values of `x · r`, rounded before the weight, lie from the truth's: nothing where nothing is rounded there.
fn neighbours(spec: &NormSpec, normalized: f64) -> [f64; 3] {
    let Some(dtype) = spec.normalized_dtype() else { return [0.0; 3] };
    let slack = F32_ULP * DType::F32.ulp(normalized);
    [normalized, normalized - slack, normalized + slack].map(|value| dtype.round(value) - dtype.round(normalized))
}

/// One element, in float64.
struct Element {
    x: f64,
    normalized: f64,
    weight: f64,
    bias: f64,
    /// What the bias is added to, by the nearest right value.
    product: f64,
}

/// What may be lost because a number of this element is below the normal range, where drivers flush it to zero.
fn vanishing(spec: &NormSpec, inputs: &Inputs<'_>, row: &RowStatistics, channel: usize, element: &Element) -> f64 {
    let small = |v: f64| v != 0.0 && v.abs() < MIN_NORMAL;
    let product = element.product.abs();
    let mut lost = 0.0;
    // Whatever the row: each summand of the bias's sum, and a value that is put together to be rounded to bf16.
    if spec.bias.is_some() {
        let summands = [element.bias.abs(), product];
        lost += summands.into_iter().filter(|v| *v < 1.01 * MIN_NORMAL).sum::<f64>();
    }
    if spec.normalized_dtype() == Some(DType::BF16) && small(element.normalized) {
        lost += product;
    }
    // Rescued rows take everything else apart.
    if row.rescued {
        return lost;
    }
    if small(element.x) || small(element.normalized) {
        lost += product.min(1.01 * MIN_NORMAL * row.rstd.max(1.0) * element.weight.abs());
    }
    let stored_weight = inputs.weight.map_or(1.0, |w| w.at(channel));
    if spec.weight.is_some() && (small(stored_weight) || small(element.weight)) {
        lost += MIN_NORMAL * element.normalized.abs().max(1.0);
    }
    lost
}

pub(super) fn note(outcome: &mut Outcome, mismatch: Mismatch) {
    outcome.wrong += 1;
    if outcome.mismatches.len() < MOST_MISMATCHES {
        outcome.mismatches.push(mismatch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(spec: NormSpec, x: &[f32], y: &[f32]) -> usize {
        check(&spec.without_weight(), &Inputs::new(x), y.into()).unwrap().wrong
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
    }

    #[test]
    fn the_edge_of_the_range_is_an_edge() {
        let spec = NormSpec::torch(1, 0.0);
        let weighted = |w: f64, y: f64| {
            let (x, w) = ([1.0f32], [w as f32]);
            let (spec, y) = (spec.output(DType::F16), crate::values::Values::round_from(DType::F16, &[y]));
            check(&spec, &Inputs::new(&x).weight(&w), y.as_slice()).unwrap().passed()
        };
        assert!(weighted(65504.0, 65504.0) && !weighted(65504.0, f64::INFINITY));
        assert!(weighted(65520.0, f64::INFINITY) && weighted(65519.0, 65504.0));
        assert!(weighted(1e6, f64::INFINITY) && !weighted(1e6, 65504.0) && !weighted(-1e6, f64::INFINITY));
    }
}
