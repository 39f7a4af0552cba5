//! The values that are right for an element, and how far from each its result may lie.

use crate::dtype::DType;
use crate::inputs::Inputs;
use crate::reference::{Moments, joined, opening, values};
use crate::slot::Slot;
use crate::spec::NormSpec;
use crate::values::Slice;

use super::model::MIN_NORMAL;

/// Allowed error of the f32 arithmetic of a norm, in ULP.
pub(super) const F32_ULP: f64 = 4.0;
/// What a gate adds to it: 1 for `exp`, half for one plus it, 2.5 for the division (as WGSL allows), half each for two products.
pub(super) const GATE_ULP: f64 = 5.0;
/// Sums of squares from here up are taken as they are; smaller ones are rescued.
const ORDINARY_SQUARES: f64 = 1.0 / (1u64 << 63) as f64 / 2.0;

/// Allowed error of a norm's f32 arithmetic, in ULP.
pub(super) fn f32_ulp(spec: &NormSpec) -> f64 {
    F32_ULP + if spec.gates_input() { GATE_ULP } else { 0.0 }
}

/// One right value, before the last rounding.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Candidate {
    pub value: f64,
    /// How far off it may be without that rounding.
    pub reach: f64,
}

/// What is right for one element.
#[derive(Debug)]
pub(super) struct Right {
    pub truth: f64,
    /// Often one value several times.
    candidates: [Candidate; 9],
    /// The size at which errors arise, besides the value's own.
    pub scale: f64,
    /// The part of the reach that is there because numbers may have been flushed to zero.
    pub lost: f64,
    /// Whether a result below the normal range may be a zero.
    pub may_flush: bool,
    /// Whether a zero must have the truth's sign.
    pub keeps_sign: bool,
}

impl Right {
    /// The candidate that explains a result best; `last` is what the last rounding of a value may be off by.
    pub fn nearest(&self, got: f64, last: impl Fn(f64) -> f64) -> Candidate {
        let beyond = |candidate: &Candidate| (candidate.value - got).abs() - candidate.reach - last(candidate.value);
        let [mut nearest, others @ ..] = self.candidates;
        for other in others {
            if beyond(&other) < beyond(&nearest) {
                nearest = other;
            }
        }
        nearest
    }

    #[cfg(test)]
    pub fn of(values: [f64; 2]) -> Self {
        let candidates = std::array::from_fn(|index| Candidate { value: values[index % 2], reach: 0.0 });
        Self { truth: values[0], candidates, scale: 0.0, lost: 0.0, may_flush: true, keeps_sign: true }
    }

    /// How far from the truth any of the right values, and its error, may be.
    pub fn reach(&self) -> f64 {
        let of = |candidate: &Candidate| (candidate.value - self.truth).abs() + candidate.reach;
        self.candidates.iter().map(of).filter(|reach| reach.is_finite()).fold(0.0, f64::max)
    }
}

/// What the rows of a norm are computed from.
pub(super) struct RowOf<'a> {
    spec: &'a NormSpec,
    weight: Option<Slice<'a>>,
    bias: Option<Slice<'a>>,
    residual: Option<Slice<'a>>,
    gate: Option<Slice<'a>>,
    values: Vec<f64>,
    statistics: Option<Vec<f64>>,
}

/// What the model needs to know of a row (of a group of one).
struct RowStatistics {
    moments: Moments,
    rescued: bool,
    /// Where a gated value is less its row's mean: what the error of the product is in units of the row's deviation.
    off_center: f64,
}

/// One element before what follows the norm, in float64.
struct Element {
    x: f64,
    normalized: f64,
    /// As it is stored.
    stored_weight: f64,
    weight: f64,
    bias: f64,
}

impl<'a> RowOf<'a> {
    pub fn new(spec: &'a NormSpec, inputs: &Inputs<'a>) -> Self {
        Self {
            spec,
            weight: inputs.get(Slot::Weight),
            bias: inputs.get(Slot::Bias),
            residual: inputs.get(Slot::Residual).filter(|_| spec.adds_after()),
            gate: inputs.get(Slot::Gate).filter(|_| spec.output_gate().is_some()),
            values: values(spec, inputs),
            statistics: joined(spec, inputs),
        }
    }

    /// Calls for every element of every row, in order.
    pub fn for_each(&self, mut look: impl FnMut(usize, Right)) {
        let (hidden, group) = (self.spec.hidden as usize, self.spec.group_length() as usize);
        for (number, values) in self.values.chunks_exact(group).enumerate() {
            let first = number * group;
            let statistics = self.row_statistics(values, first / hidden);
            for (i, &x) in values.iter().enumerate() {
                look(first + i, self.right(&statistics, first + i, x));
            }
        }
    }

    /// Calls for every row (every group of one), with its scale and how far off that may be.
    pub fn for_each_rstd(&self, mut look: impl FnMut(usize, f64, f64)) {
        let (hidden, group) = (self.spec.hidden as usize, self.spec.group_length() as usize);
        for (number, values) in self.values.chunks_exact(group).enumerate() {
            let row = self.row_statistics(values, number * group / hidden);
            let rstd = row.moments.rstd;
            look(number, rstd, f32_ulp(self.spec) * DType::F32.ulp(rstd) + row.off_center * rstd);
        }
    }

    fn row_statistics(&self, values: &[f64], row: usize) -> RowStatistics {
        let joined = self.statistics.as_ref().map(|statistics| statistics[row]);
        let moments = Moments::new(self.spec, values, joined);
        let squares = moments.root * moments.root * self.spec.mean_length() as f64;
        // Close to the threshold either may be: the strict side is taken for what is clearly below or above.
        let ordinary = squares >= ORDINARY_SQUARES && squares <= f64::from(f32::MAX) * 1.01;
        let largest = values.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
        let gated = self.spec.centered && self.spec.gates_input();
        let off_center = if gated { GATE_ULP * DType::F32.ulp(largest) * moments.rstd } else { 0.0 };
        RowStatistics { moments, rescued: !ordinary, off_center }
    }

    fn right(&self, row: &RowStatistics, index: usize, x: f64) -> Right {
        let spec = self.spec;
        let channel = spec.weight_index(index % spec.hidden as usize);
        let stored_weight = self.weight.map_or(1.0, |weight| weight.at(channel));
        let element = Element {
            x,
            normalized: (x - row.moments.mean) * row.moments.rstd,
            stored_weight,
            weight: if self.weight.is_some() { stored_weight + f64::from(spec.weight_offset) } else { 1.0 },
            bias: self.bias.map_or(0.0, |bias| bias.at(channel)),
        };
        let normal_size = if spec.centered { element.normalized.abs().max(1.0) } else { element.normalized.abs() };
        let slack = f32_ulp(spec) * DType::F32.ulp(normal_size) + row.off_center;
        let rounded = |value: f64| spec.normalized_dtype().map_or(element.normalized, |dtype| dtype.round(value));
        let truth = rounded(element.normalized) * element.weight + element.bias;
        let of_mean = if spec.centered { element.weight.abs() } else { 0.0 };
        let product = if self.bias.is_some() { (truth - element.bias).abs() } else { 0.0 };
        let size = element.bias.abs().max(product).max(of_mean);
        let mut lost = 0.0f64;
        let candidates = [element.normalized, element.normalized - slack, element.normalized + slack].map(|normalized| {
            let value =
                if normalized == element.normalized { truth } else { rounded(normalized) * element.weight + element.bias };
            let value = if value.is_finite() { value } else { truth };
            let vanishing = self.vanishing(row, &element, (value - element.bias).abs());
            lost = lost.max(vanishing);
            let off_center = row.off_center * element.weight.abs();
            Candidate { value, reach: vanishing + off_center + f32_ulp(spec) * DType::F32.ulp(value.abs().max(size)) }
        });
        let result = Right {
            truth,
            candidates: std::array::from_fn(|index| candidates[index % 3]),
            scale: size,
            lost,
            may_flush: true,
            keeps_sign: element.bias == 0.0 && !spec.centered,
        };
        self.followed(result, index)
    }

    /// The result with what follows the norm.
    fn followed(&self, result: Right, index: usize) -> Right {
        let spec = self.spec;
        let dtype = spec.norm_dtype();
        if let Some(residual) = self.residual.map(|residual| residual.at(index)) {
            let add = |value: f64| Candidate { value: value + residual, reach: DType::F32.ulp(value + residual) / 2.0 };
            let truth = dtype.round(result.truth) + residual;
            let scale = truth.abs().max(result.truth.abs()).max(result.scale);
            return Right { scale, may_flush: false, keeps_sign: false, ..result.rounded(dtype, truth, 1.0, add) };
        }
        let (Some(gate), Some(z)) = (spec.output_gate(), self.gate.map(|gate| gate.at(index))) else { return result };
        let open = opening(spec.activation, z);
        let multiply = |value: f64| Candidate { value: value * open, reach: GATE_ULP * DType::F32.ulp(value * open) };
        // SiLU of a subnormal gate may be flushed as well.
        let flushed =
            if open != 0.0 && open.abs() < MIN_NORMAL && z.abs() < MIN_NORMAL { result.truth.abs() * MIN_NORMAL } else { 0.0 };
        let mut followed = if gate.rounded {
            let truth = dtype.round(result.truth) * open;
            result.rounded(dtype, truth, open.abs(), multiply)
        } else {
            let candidates = result.candidates.map(|candidate| {
                let gated = multiply(candidate.value);
                Candidate { value: gated.value, reach: gated.reach + candidate.reach * open.abs() }
            });
            Right { truth: result.truth * open, candidates, ..result }
        };
        followed.candidates.iter_mut().for_each(|candidate| candidate.reach += flushed);
        followed.lost = followed.lost * open.abs() + flushed;
        followed.scale *= open.abs();
        followed
    }

    /// What may be lost because a number of this element is below the normal range, where drivers flush it to zero.
    fn vanishing(&self, row: &RowStatistics, element: &Element, product: f64) -> f64 {
        let small = |v: f64| v != 0.0 && v.abs() < MIN_NORMAL;
        let mut lost = 0.0;
        // Whatever the row: each summand of the bias's sum, and a value that is put together to be rounded to bf16.
        if self.bias.is_some() {
            let summands = [element.bias.abs(), product];
            lost += summands.into_iter().filter(|v| *v < 1.01 * MIN_NORMAL).sum::<f64>();
        }
        if self.spec.normalized_dtype() == Some(DType::BF16) && small(element.normalized) {
            lost += product;
        }
        // Rescued rows take everything else apart.
        if row.rescued {
            return lost;
        }
        if small(element.x) || small(element.normalized) {
            lost += product.min(1.01 * MIN_NORMAL * row.moments.rstd.max(1.0) * element.weight.abs());
        }
        if self.weight.is_some() && (small(element.stored_weight) || small(element.weight)) {
            lost += MIN_NORMAL * element.normalized.abs().max(1.0);
        }
        lost
    }
}

impl Right {
    /// The result is rounded to the norm's own dtype, and then goes on, its error `factor` times.
    fn rounded(self, dtype: DType, truth: f64, factor: f64, go_on: impl Fn(f64) -> Candidate) -> Right {
        let mut lost = self.lost;
        let candidates = std::array::from_fn(|index| {
            let Candidate { value, reach } = self.candidates[index % 3];
            let end = match dtype.is_half() {
                true => [value, value - reach, value + reach][index / 3],
                // Beyond f32 it is infinite before it goes on.
                false if value.abs() > DType::F32.largest() => dtype.round(value),
                false => value,
            };
            let next = go_on(if dtype.is_half() { dtype.round(end) } else { end });
            // Below the normal range of f32 or bf16 it may be flushed, before it is rounded or after.
            let is_small = dtype != DType::F16 && end.abs() < MIN_NORMAL;
            let flushed = if is_small { end.abs().max(dtype.round(end).abs()) } else { 0.0 };
            lost = lost.max(flushed);
            // A half one is one of the two that its allowance rounds to, if that is less than a step; else it may be anywhere in it.
            let left = if dtype.is_half() && reach <= dtype.ulp(value) / 2.0 { 0.0 } else { reach };
            Candidate { value: next.value, reach: next.reach + (left + flushed) * factor }
        });
        Right { truth, candidates, lost, ..self }
    }
}
