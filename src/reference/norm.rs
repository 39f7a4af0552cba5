//! Twin of `shaders/rms_norm.wgsl`, `layer_norm.wgsl` and `apply.wgsl`.

use std::thread;

use super::moments::{Moments, statistic_of};
use super::stats::joined;
use super::values::{opening, values};
use crate::error::{Detail, Error, Result};
use crate::inputs::Inputs;
use crate::slot::Slot;
use crate::spec::NormSpec;
use crate::values::Slice;

/// The norm in f64: the mathematical result from the operands as stored, rounded to
/// [`normalized_dtype`](NormSpec::normalized_dtype) before the weight where the spec says so, and not rounded at the end (nor
/// turned into codes).
///
/// `y = x / sqrt(mean(x²) + eps) · (w + weight_offset) + b`, a row at a time (formula of Zhang and Sennrich, 2019, with the
/// eps that every implementation adds); a LayerNorm takes the mean off x first (Ba, Kiros and Hinton, 2016). x is the input, its
/// sum with a residual that is added first, or its product with what a gate opens to. A residual that is added after is added to
/// y, rounded to the norm's own dtype; a gate that follows multiplies y. Rows run in parallel where there is work for it.
///
/// ```
/// use wgpu_rmsnorm::{Inputs, NormSpec, reference};
///
/// let spec = NormSpec::torch(4, 0.0).without_weight();
/// let y = reference::norm(&spec, &Inputs::new(&[3.0f32, 0.0, 0.0, 0.0]))?;
/// assert_eq!(y, [2.0, 0.0, 0.0, 0.0]);
/// # Ok::<(), wgpu_rmsnorm::Error>(())
/// ```
///
/// # Errors
/// Those of [`Inputs::validate`], and [`Error::Shape`] for a backward pass, whose twin is [`gradients`](super::gradients).
pub fn norm(spec: &NormSpec, inputs: &Inputs<'_>) -> Result<Vec<f64>> {
    const WORTH_A_THREAD: usize = 1 << 16;
    let rows = inputs.validate(spec)? as usize;
    if spec.backward.is_some() {
        let remedy = "take reference::gradients for it";
        return Err(Error::Shape(Detail::new("spec", "a norm", "its backward pass", remedy)));
    }
    let hidden = spec.hidden as usize;
    let row_of = RowOf {
        spec,
        inputs,
        weight: inputs.get(Slot::Weight).map(Slice::widen),
        bias: inputs.get(Slot::Bias).map(Slice::widen),
        values: values(spec, inputs),
        statistics: joined(spec, inputs),
    };
    let mut output = vec![0.0; rows * hidden];

    let available = thread::available_parallelism().map_or(1, usize::from);
    let threads = available.min(output.len().div_ceil(WORTH_A_THREAD)).max(1);
    let rows_each = rows.div_ceil(threads).max(1);
    let run = |first: usize, part: &mut [f64]| {
        part.chunks_exact_mut(hidden).enumerate().for_each(|(index, row)| row_of.compute(first + index, row));
    };
    if threads == 1 {
        run(0, &mut output);
    } else {
        thread::scope(|scope| {
            for (index, part) in output.chunks_mut(rows_each * hidden).enumerate() {
                scope.spawn(move || run(index * rows_each, part));
            }
        });
    }
    Ok(output)
}

/// What every row is computed from.
struct RowOf<'a> {
    spec: &'a NormSpec,
    inputs: &'a Inputs<'a>,
    weight: Option<Vec<f64>>,
    bias: Option<Vec<f64>>,
    values: Vec<f64>,
    statistics: Option<Vec<f64>>,
}

impl RowOf<'_> {
    fn compute(&self, row: usize, output: &mut [f64]) {
        let start = row * output.len();
        let group = self.spec.group_length() as usize;
        for (index, y) in output.chunks_exact_mut(group).enumerate() {
            let first = index * group;
            let values = &self.values[start + first..start + first + group];
            let moments = Moments::new(self.spec, values, statistic_of(self.inputs, self.statistics.as_ref(), row));
            for (i, (y, x)) in y.iter_mut().zip(values).enumerate() {
                *y = self.after(self.weighted(first + i, (x - moments.mean) * moments.rstd), start + first + i);
            }
        }
    }

    /// Weight and bias of a channel.
    fn weighted(&self, channel: usize, normalized: f64) -> f64 {
        let index = self.spec.weight_index(channel);
        let mut y = self.spec.normalized_dtype().map_or(normalized, |dtype| dtype.round(normalized));
        if let Some(weight) = &self.weight {
            y *= weight[index] + f64::from(self.spec.weight_offset);
        }
        if let Some(bias) = &self.bias {
            y += bias[index];
        }
        y
    }

    /// What follows the norm.
    fn after(&self, y: f64, element: usize) -> f64 {
        if let Some(residual) = self.inputs.get(Slot::Residual).filter(|_| self.spec.adds_after()) {
            return self.spec.norm_dtype().round(y) + residual.at(element);
        }
        match (self.spec.output_gate(), self.inputs.get(Slot::Gate)) {
            (Some(gate), Some(values)) => {
                let y = if gate.rounded { self.spec.norm_dtype().round(y) } else { y };
                y * opening(self.spec.activation, values.at(element))
            }
            _ => y,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn d3_eps_is_inside_the_root() {
        let spec = NormSpec::torch(8, 1e-6).without_weight();
        let y = norm(&spec, &Inputs::new(&[1e-4f32; 8])).unwrap();
        approx::assert_relative_eq!(y[0], 0.099_503_719, max_relative = DType::F32.ulp(1.0));
    }

    #[test]
    fn d1_and_d8_zero_rows_stay_zero() {
        for eps in [0.0, 1e-12, 1e-5] {
            let spec = NormSpec::torch(10, eps).without_weight();
            assert_eq!(norm(&spec, &Inputs::new(&[0f32; 10])).unwrap(), [0.0; 10]);
        }
    }

    #[test]
    fn d2_a_spike_of_1000_gives_64() {
        let mut x = vec![0f32; 4096];
        x[17] = 1000.0;
        let y = norm(&NormSpec::torch(4096, 1e-5).without_weight(), &Inputs::new(&x)).unwrap();
        approx::assert_relative_eq!(y[17], 64.0, max_relative = DType::F32.ulp(1.0));
    }

    #[test]
    fn g9_a_weight_of_another_length_is_an_error_naming_both() {
        for length in [1usize, 7, 64] {
            let (x, w) = (vec![1f32; 16], vec![1f32; length]);
            let error = norm(&NormSpec::torch(8, 1e-6), &Inputs::new(&x).weight(&w)).unwrap_err().to_string();
            assert!(error.contains("hidden = 8") && error.contains(&format!("{length} elements")), "{error}");
        }
    }

    #[test]
    fn a_backward_pass_is_no_norm() {
        let ones = [1f32; 8];
        let inputs = Inputs::new(&ones).weight(&ones).grad_output(&ones);
        let error = norm(&NormSpec::torch(8, 1e-6).backward(), &inputs).unwrap_err().to_string();
        assert!(error.contains("reference::gradients"), "{error}");
    }

    #[test]
    fn rows_in_parallel_equal_rows_alone() {
        let x: Vec<f32> = (0..300_000u64).map(|i| ((i * 7919) % 1001) as f32 - 500.0).collect();
        let spec = NormSpec::torch(1000, 1e-6).without_weight();
        let all = norm(&spec, &Inputs::new(&x)).unwrap();
        for row in [0, 1, 149, 150, 299] {
            let range = row * 1000..(row + 1) * 1000;
            assert_eq!(norm(&spec, &Inputs::new(&x[range.clone()])).unwrap(), all[range]);
        }
    }
}
