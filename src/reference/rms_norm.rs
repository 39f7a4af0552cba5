//! Twin of `shaders/rms_norm.wgsl`.

use std::thread;

use super::residual_sum::sums;
use crate::error::Result;
use crate::inputs::Inputs;
use crate::spec::NormSpec;
use crate::values::Slice;

/// RMSNorm in f64: the mathematical result from the inputs as stored, rounded to
/// [`normalized_dtype`](NormSpec::normalized_dtype) before the weight where the spec says so, and not rounded at the end.
///
/// `y = x / sqrt(mean(x²) + eps) · (w + weight_offset) + b`, a row at a time (formula of Zhang and Sennrich, 2019, with the
/// eps that every implementation adds). x is the input, or its sum with a residual that is added first; one that is added after
/// is added to y, rounded to the norm's own dtype. Squares of finite f32 values stay within f64's range. Rows run in parallel
/// where there is work for it.
///
/// ```
/// use wgpu_rmsnorm::{Inputs, NormSpec, reference};
///
/// let spec = NormSpec::torch(4, 0.0).without_weight();
/// let y = reference::rms_norm(&spec, &Inputs::new(&[3.0f32, 0.0, 0.0, 0.0]))?;
/// assert_eq!(y, [2.0, 0.0, 0.0, 0.0]);
/// # Ok::<(), wgpu_rmsnorm::Error>(())
/// ```
///
/// # Errors
/// Those of [`Inputs::validate`].
pub fn rms_norm(spec: &NormSpec, inputs: &Inputs<'_>) -> Result<Vec<f64>> {
    const WORTH_A_THREAD: usize = 1 << 16;
    let rows = inputs.validate(spec)? as usize;
    let hidden = spec.hidden as usize;
    let weight = inputs.weight.map(Slice::widen);
    let bias = inputs.bias.map(Slice::widen);
    let values = values(spec, inputs);
    let mut output = vec![0.0; rows * hidden];

    let available = thread::available_parallelism().map_or(1, usize::from);
    let threads = available.min(output.len().div_ceil(WORTH_A_THREAD)).max(1);
    let rows_each = rows.div_ceil(threads).max(1);
    let run = |first: usize, part: &mut [f64]| {
        for (index, row) in part.chunks_exact_mut(hidden).enumerate() {
            let start = (first + index) * hidden;
            normalize_row(spec, &values[start..start + hidden], weight.as_deref(), bias.as_deref(), row);
            if let Some(residual) = inputs.residual.filter(|_| spec.adds_after()) {
                add_after(spec, residual, start, row);
            }
        }
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

/// What is normalised: the input, or its sum with the residual, rounded where the spec says so.
pub(crate) fn values(spec: &NormSpec, inputs: &Inputs<'_>) -> Vec<f64> {
    let Some(residual) = inputs.residual.filter(|_| !spec.adds_after()) else { return inputs.input.widen() };
    let mut sums = sums(inputs, residual);
    if let Some(dtype) = spec.sum_rounded_to() {
        sums.iter_mut().for_each(|sum| *sum = dtype.round(*sum));
    }
    sums
}

/// Rounds a normalised row to the norm's own dtype, and adds the residual.
fn add_after(spec: &NormSpec, residual: Slice<'_>, start: usize, row: &mut [f64]) {
    for (i, y) in row.iter_mut().enumerate() {
        *y = spec.norm_dtype().round(*y) + residual.at(start + i);
    }
}

fn normalize_row(spec: &NormSpec, values: &[f64], weight: Option<&[f64]>, bias: Option<&[f64]>, row: &mut [f64]) {
    row.copy_from_slice(values);
    let squares: f64 = row.iter().map(|x| x * x).sum();
    let rstd = 1.0 / (squares / row.len() as f64 + f64::from(spec.eps)).sqrt();
    // A zero row with eps 0: the root is 0, and the row stays zero.
    let rstd = if rstd == f64::INFINITY { 0.0 } else { rstd };
    for (i, value) in row.iter_mut().enumerate() {
        let mut y = *value * rstd;
        if let Some(dtype) = spec.normalized_dtype() {
            y = dtype.round(y);
        }
        if let Some(weight) = weight {
            y *= weight[i] + f64::from(spec.weight_offset);
        }
        if let Some(bias) = bias {
            y += bias[i];
        }
        *value = y;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn d3_eps_is_inside_the_root() {
        let spec = NormSpec::torch(8, 1e-6).without_weight();
        let y = rms_norm(&spec, &Inputs::new(&[1e-4f32; 8])).unwrap();
        approx::assert_relative_eq!(y[0], 0.099_503_719, max_relative = DType::F32.ulp(1.0));
    }

    #[test]
    fn d1_and_d8_zero_rows_stay_zero() {
        for eps in [0.0, 1e-12, 1e-5] {
            let spec = NormSpec::torch(10, eps).without_weight();
            assert_eq!(rms_norm(&spec, &Inputs::new(&[0f32; 10])).unwrap(), [0.0; 10]);
        }
    }

    #[test]
    fn d2_a_spike_of_1000_gives_64() {
        let mut x = vec![0f32; 4096];
        x[17] = 1000.0;
        let y = rms_norm(&NormSpec::torch(4096, 1e-5).without_weight(), &Inputs::new(&x)).unwrap();
        approx::assert_relative_eq!(y[17], 64.0, max_relative = DType::F32.ulp(1.0));
    }

    #[test]
    fn g9_a_weight_of_another_length_is_an_error_naming_both() {
        for length in [1usize, 7, 64] {
            let (x, w) = (vec![1f32; 16], vec![1f32; length]);
            let error = rms_norm(&NormSpec::torch(8, 1e-6), &Inputs::new(&x).weight(&w)).unwrap_err().to_string();
            assert!(error.contains("hidden = 8") && error.contains(&format!("{length} elements")), "{error}");
        }
    }

    #[test]
    fn rows_in_parallel_equal_rows_alone() {
        let x: Vec<f32> = (0..300_000u64).map(|i| ((i * 7919) % 1001) as f32 - 500.0).collect();
        let spec = NormSpec::torch(1000, 1e-6).without_weight();
        let all = rms_norm(&spec, &Inputs::new(&x)).unwrap();
        for row in [0, 1, 149, 150, 299] {
            let range = row * 1000..(row + 1) * 1000;
            assert_eq!(rms_norm(&spec, &Inputs::new(&x[range.clone()])).unwrap(), all[range]);
        }
    }
}
