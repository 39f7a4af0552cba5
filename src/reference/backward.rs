//! Twin of `shaders/backward.wgsl` and `shaders/grad_channels.wgsl`.

use super::moments::Moments;
use super::values::{opening, slope_of_opening, values};
use crate::backward::Backward;
use crate::error::{Detail, Error, Result};
use crate::inputs::Inputs;
use crate::slot::{BySlot, Slot};
use crate::spec::NormSpec;
use crate::values::Slice;

/// The gradients of a norm in f64, not rounded at the end. What the pass does not find is empty.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Gradients {
    /// Of the input, row by row.
    pub input: Vec<f64>,
    /// Of the gate, row by row.
    pub gate: Vec<f64>,
    /// Of the weight: summed over all rows, and over the groups that share a value.
    pub weight: Vec<f64>,
    /// Of the bias, likewise.
    pub bias: Vec<f64>,
}

/// The gradients of a norm: the mathematical result from the operands as stored, with the roundings that the graph of the definition
/// has in between. [`Backward`] has the formulas; those of a gate are the product rule's.
///
/// # Errors
/// Those of [`Inputs::validate`], and [`Error::Shape`] for a spec that is not [`NormSpec::backward`].
pub fn gradients(spec: &NormSpec, inputs: &Inputs<'_>) -> Result<Gradients> {
    let rows = Slopes::new(spec, inputs)?;
    let mut found = Gradients { weight: rows.start(Slot::GradWeight), bias: rows.start(Slot::GradBias), ..Gradients::default() };
    rows.for_each(|row| {
        for (i, element) in row.elements.iter().enumerate() {
            let grad = row.grad_value(i);
            let beside = rows.stream.map_or(0.0, |stream| stream.at(row.first + i));
            found.input.push(rows.to_input(element, grad) + beside);
            if rows.backward.grad_gate.is_some() {
                found.gate.push(rows.to_gate(element, grad));
            }
            if let Some(sum) = found.weight.get_mut(element.channel) {
                *sum += element.grad_norm * element.stored;
            }
            if let Some(sum) = found.bias.get_mut(element.channel) {
                *sum += element.grad_norm;
            }
        }
    });
    Ok(found)
}

/// What the rows of a backward pass are computed from.
pub(crate) struct Slopes<'a> {
    pub spec: &'a NormSpec,
    pub backward: Backward,
    /// The gradient of the sum that the forward pass wrote back.
    pub stream: Option<Slice<'a>>,
    input: Slice<'a>,
    grad_output: Slice<'a>,
    weight: Option<Slice<'a>>,
    pub bias: Option<Slice<'a>>,
    gate: Option<Slice<'a>>,
    saved: Option<Slice<'a>>,
    sums: BySlot<Slice<'a>>,
    values: Vec<f64>,
}

/// A row (a group of one) in a backward pass.
pub(crate) struct RowSlopes {
    /// The index of its first element.
    pub first: usize,
    pub rstd: f64,
    /// Whether the scale is one that every rescue leaves alone: the sum of squares is in the ordinary range, or it was saved.
    pub ordinary: bool,
    pub elements: Vec<Element>,
    /// Elements that the statistic is made of.
    pub summed: usize,
    /// The mean of `g · x̂`, and of its magnitudes.
    pub along: f64,
    pub along_size: f64,
    /// The mean of `g` in a LayerNorm, and of its magnitudes.
    pub level: f64,
    pub level_size: f64,
}

/// An element in a backward pass.
pub(crate) struct Element {
    pub channel: usize,
    pub input: f64,
    /// `x̂`, and as the forward pass rounded it.
    pub normalized: f64,
    pub stored: f64,
    pub weight: f64,
    pub grad_output: f64,
    /// The gradient of the norm's result.
    pub grad_norm: f64,
    /// `g`: that times the weight, rounded where the normalised value was, and before that.
    pub weighted: f64,
    pub product: f64,
    /// The gate's element, and what it opens to, with its derivative.
    pub gate: f64,
    pub open: f64,
    pub open_slope: f64,
    /// What an output's gate multiplies.
    pub result: f64,
}

impl<'a> Slopes<'a> {
    pub fn new(spec: &'a NormSpec, inputs: &Inputs<'a>) -> Result<Self> {
        inputs.validate(spec)?;
        let Some(backward) = spec.backward else {
            let remedy = "ask for the gradients of a spec made with NormSpec::backward";
            return Err(Error::Shape(Detail::new("spec", "a backward pass", spec.operation(), remedy)));
        };
        let nothing = Slice::F32(&[]);
        let mut sums = BySlot::default();
        for slot in [Slot::GradWeight, Slot::GradBias] {
            sums.set(slot, inputs.get(slot));
        }
        Ok(Self {
            spec,
            backward,
            stream: inputs.get(Slot::GradResidualOut),
            input: inputs.input(),
            grad_output: inputs.get(Slot::GradOutput).unwrap_or(nothing),
            weight: inputs.get(Slot::Weight),
            bias: inputs.get(Slot::Bias),
            gate: inputs.get(Slot::Gate),
            saved: inputs.get(Slot::SavedRstd),
            sums,
            values: values(spec, inputs),
        })
    }

    /// What the sums over rows of an operand begin with: what is there already, or zeros. Nothing where it is not wanted.
    pub fn start(&self, slot: Slot) -> Vec<f64> {
        let zeros = || vec![0.0; self.spec.dtype_of(slot).map_or(0, |_| self.spec.weight_length() as usize)];
        self.sums.get(slot).map_or_else(zeros, |sums| sums.widen())
    }

    /// Calls for every group of every row, in order.
    pub fn for_each(&self, mut look: impl FnMut(RowSlopes)) {
        let length = self.spec.group_length() as usize;
        for (number, values) in self.values.chunks_exact(length).enumerate() {
            look(self.row(number, values));
        }
    }

    fn row(&self, number: usize, values: &[f64]) -> RowSlopes {
        let spec = self.spec;
        let moments = Moments::new(spec, values, None);
        // A scale that f32 does not hold well is found again.
        let saved = self.saved.map(|saved| saved.at(number)).filter(|rstd| is_trusted(*rstd));
        let rstd = saved.unwrap_or(moments.rstd);
        let first = number * values.len();
        let element = |i: usize| self.element(first + i, (values[i] - moments.mean) * rstd);
        let elements: Vec<Element> = (0..values.len()).map(element).collect();
        let summed = spec.statistics_length() as usize;
        let mean = |of: &dyn Fn(&Element) -> f64| elements.iter().map(of).sum::<f64>() / summed as f64;
        // What is not finite spoils the row, and not its sign alone.
        let finite = |mean: f64| if mean.is_finite() { mean } else { f64::NAN };
        let level = |of: &dyn Fn(&Element) -> f64| if spec.centered { mean(of) } else { 0.0 };
        RowSlopes {
            first,
            rstd,
            ordinary: saved.is_some() || ordinary_squares(moments.root * moments.root * spec.mean_length() as f64),
            summed,
            along: finite(mean(&|e| e.weighted * e.normalized)),
            along_size: mean(&|e| (e.weighted * e.normalized).abs()),
            level: finite(level(&|e| e.weighted)),
            level_size: level(&|e| e.weighted.abs()),
            elements,
        }
    }

    fn element(&self, index: usize, normalized: f64) -> Element {
        let spec = self.spec;
        let channel = spec.weight_index(index % spec.hidden as usize);
        let rounded = |value: f64| spec.normalized_dtype().map_or(value, |dtype| dtype.round(value));
        let stored = rounded(normalized);
        let weight = self.weight.map_or(1.0, |weight| weight.at(channel) + f64::from(spec.weight_offset));
        let grad_output = self.grad_output.at(index);
        let gate = self.gate.map_or(0.0, |gate| gate.at(index));
        let has_gate = self.gate.is_some();
        let open = if has_gate { opening(spec.activation, gate) } else { 1.0 };
        let mut result = stored * weight + self.bias.map_or(0.0, |bias| bias.at(channel));
        let mut grad_norm = grad_output;
        if let Some(gate) = spec.output_gate() {
            grad_norm *= open;
            if gate.rounded && spec.norm_dtype().is_half() {
                result = spec.norm_dtype().round(result);
                grad_norm = spec.norm_dtype().round(grad_norm);
            }
        }
        let product = grad_norm * weight;
        Element {
            channel,
            input: self.input.at(index),
            normalized,
            stored,
            weight,
            grad_output,
            grad_norm,
            weighted: rounded(product),
            product,
            gate,
            open,
            open_slope: if has_gate { slope_of_opening(spec.activation, gate) } else { 0.0 },
            result,
        }
    }

    /// The gradient of the input from that of what is normalised.
    pub fn to_input(&self, element: &Element, grad: f64) -> f64 {
        if self.spec.gates_input() { grad * element.open } else { grad }
    }

    /// The gradient of the gate, likewise.
    pub fn to_gate(&self, element: &Element, grad: f64) -> f64 {
        match self.spec.gates_input() {
            true => grad * element.input * element.open_slope,
            false => element.grad_output * element.result * element.open_slope,
        }
    }
}

impl RowSlopes {
    /// The gradient of what is normalised.
    pub fn grad_value(&self, i: usize) -> f64 {
        let element = &self.elements[i];
        // What is not finite spoils the row, those of its elements that are not summed too.
        let is_taken_off = i < self.summed || self.along.is_nan();
        let along = if is_taken_off { element.normalized * self.along } else { 0.0 };
        self.rstd * (element.weighted - self.level - along)
    }
}

/// Whether a sum of squares is clearly one that is taken as it is.
fn ordinary_squares(squares: f64) -> bool {
    (2f64.powi(-64)..=f64::from(f32::MAX) * 1.01).contains(&squares)
}

/// Whether a scale that was saved is taken as it is: those of rows that were rescued may have left f32's range.
fn is_trusted(rstd: f64) -> bool {
    (2f64.powi(-100)..2f64.powi(100)).contains(&rstd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn f5_a_row_of_zeros_has_gradients() {
        let spec = NormSpec::torch(4, 1e-5).backward();
        let found = gradients(&spec, &Inputs::new(&[0f32; 4]).weight(&[1f32; 4]).grad_output(&[1f32, 2.0, 3.0, 4.0])).unwrap();
        for (grad, expected) in found.input.iter().zip([316.227_8, 632.455_5, 948.683_3, 1_264.911_1]) {
            approx::assert_relative_eq!(*grad, expected, max_relative = DType::F32.ulp(1.0));
        }
        assert_eq!(found.weight, [0.0; 4]);
    }

    #[test]
    fn f3_no_rows_have_parameter_gradients_of_zero() {
        let spec = NormSpec::layer_norm(3, 1e-5).backward();
        let nothing: &[f32] = &[];
        let found = gradients(&spec, &Inputs::new(nothing).weight(&[1f32; 3]).grad_output(nothing)).unwrap();
        assert_eq!(found, Gradients { weight: vec![0.0; 3], bias: vec![0.0; 3], ..Gradients::default() });
    }
}
