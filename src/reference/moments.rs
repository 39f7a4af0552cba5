//! The statistics of a row: mean and scale.

use super::stats::joined;
use super::values::values;
use crate::error::Result;
use crate::inputs::Inputs;
use crate::slot::Slot;
use crate::spec::NormSpec;

/// What a row (a group of a row) is normalised by.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moments {
    /// Taken off first; 0 but in a LayerNorm.
    pub mean: f64,
    /// The root of the mean of squares, without eps.
    pub root: f64,
    /// `1/sqrt(mean of squares + eps)`; 0 where that is infinite, so that a zero row stays zero.
    pub rstd: f64,
}

impl Moments {
    /// Those of the values of a row; the statistics of all shards take their place where a norm reads them.
    pub fn new(spec: &NormSpec, values: &[f64], statistics: Option<f64>) -> Self {
        let summed = &values[..spec.statistics_length() as usize];
        let mean = if spec.centered { mean(summed) } else { 0.0 };
        let root = match statistics {
            Some(squares) => (squares / spec.mean_length() as f64).sqrt(),
            None => root_mean_square(summed, mean),
        };
        let rstd = 1.0 / root.hypot(f64::from(spec.eps).sqrt());
        Self { mean, root, rstd: if rstd == f64::INFINITY { 0.0 } else { rstd } }
    }
}

/// About the first value, so that equal values have their own for a mean; and once more about what was found, for accuracy.
fn mean(values: &[f64]) -> f64 {
    let about = |center: f64| center + values.iter().map(|x| x - center).sum::<f64>() / values.len() as f64;
    about(about(values[0]))
}

/// At the size of the largest deviation, so that no square leaves f64's range.
fn root_mean_square(values: &[f64], mean: f64) -> f64 {
    let largest = values.iter().fold(0.0f64, |largest, x| largest.max((x - mean).abs()));
    // A maximum would pass over a NaN.
    if values.iter().any(|x| (x - mean).is_nan()) {
        return f64::NAN;
    }
    if largest == 0.0 || largest == f64::INFINITY {
        return largest;
    }
    let squares: f64 = values.iter().map(|x| (x - mean) / largest).map(|d| d * d).sum();
    largest * (squares / values.len() as f64).sqrt()
}

/// The scale of each row (of each group): `1/sqrt(mean(x²) + eps)`, or of the variance in a LayerNorm; 0 where that is infinite.
///
/// # Errors
/// Those of [`Inputs::validate`].
pub fn rstd(spec: &NormSpec, inputs: &Inputs<'_>) -> Result<Vec<f64>> {
    inputs.validate(spec)?;
    let statistics = joined(spec, inputs);
    let values = values(spec, inputs);
    let groups = values.chunks_exact(spec.group_length() as usize).enumerate();
    Ok(groups.map(|(index, group)| Moments::new(spec, group, statistics.as_ref().map(|s| s[index])).rstd).collect())
}

/// The statistics of a row, where the norm reads them.
pub(super) fn statistic_of(inputs: &Inputs<'_>, statistics: Option<&Vec<f64>>, row: usize) -> Option<f64> {
    inputs.get(Slot::Statistics).and(statistics.map(|statistics| statistics[row]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_equal_elements_has_no_variance() {
        let spec = NormSpec::layer_norm(7, 0.0);
        for value in [0.0, 0.1, 1e38, 1e-45] {
            let moments = Moments::new(&spec, &[value; 7], None);
            assert_eq!((moments.mean, moments.root, moments.rstd), (value, 0.0, 0.0));
        }
    }

    #[test]
    fn small_variations_about_a_large_mean_are_seen() {
        let values: Vec<f64> = (0..8).map(|i| 1e7 + f64::from(i)).collect();
        let moments = Moments::new(&NormSpec::layer_norm(8, 0.0), &values, None);
        approx::assert_relative_eq!(moments.root, 5.25f64.sqrt(), max_relative = 1e-12);
    }

    #[test]
    fn what_is_not_finite_spoils_the_row() {
        let spec = NormSpec::torch(3, 1e-6);
        assert!(Moments::new(&spec, &[1.0, f64::NAN, 2.0], None).rstd.is_nan());
        assert_eq!(Moments::new(&spec, &[1.0, f64::NEG_INFINITY, 2.0], None).rstd, 0.0);
        assert!(Moments::new(&NormSpec::layer_norm(3, 1e-6), &[1.0, f64::INFINITY, 2.0], None).rstd.is_nan());
    }
}
