//! Twin of `shaders/stats.wgsl`, and of what `shaders/apply.wgsl` makes of it.

use crate::error::{Detail, Error, Result};
use crate::inputs::Inputs;
use crate::slot::Slot;
use crate::spec::NormSpec;

/// The statistics of each row: `s` and `k` with the sum of squares `s · 4^k`. `k` is 0 where an f32 holds the sum well, else it
/// is the exponent of the row's largest element.
///
/// # Errors
/// Those of [`Inputs::validate`], and [`Error::Shape`] for a norm that is not [`NormSpec::stats`].
pub fn stats(spec: &NormSpec, inputs: &Inputs<'_>) -> Result<Vec<f64>> {
    inputs.validate(spec)?;
    if !spec.is_stats() {
        let remedy = "ask for the statistics of a norm made with NormSpec::stats";
        return Err(Error::Shape(Detail::new("spec", "one that finds statistics", spec.operation(), remedy)));
    }
    let values = inputs.input().widen();
    Ok(values.chunks_exact(spec.hidden as usize).flat_map(statistic).collect())
}

/// The statistic of a row, or of a part of one.
pub(crate) fn statistic(row: &[f64]) -> [f64; 2] {
    let squares: f64 = row.iter().map(|x| x * x).sum();
    if squares == 0.0 || !squares.is_finite() || (2f64.powi(-64)..=f64::from(f32::MAX)).contains(&squares) {
        return [squares, 0.0];
    }
    let largest = row.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
    let exponent = f64::from(((largest.to_bits() >> 52) as i32) - 1023);
    [squares / 4f64.powf(exponent), exponent]
}

/// The sums of squares of whole rows, where the norm reads statistics.
pub(crate) fn joined(spec: &NormSpec, inputs: &Inputs<'_>) -> Option<Vec<f64>> {
    let statistics = inputs.get(Slot::Statistics)?.widen();
    let shards = spec.shards()? as usize;
    let sum = |row: &[f64]| row.chunks_exact(2).map(|pair| pair[0] * 4f64.powf(pair[1])).sum();
    Some(statistics.chunks_exact(2 * shards).map(sum).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exponent_is_taken_out_where_the_sum_leaves_the_range() {
        assert_eq!(statistic(&[3.0, 4.0]), [25.0, 0.0]);
        assert_eq!(statistic(&[2f64.powi(70); 3]), [3.0, 70.0]);
        assert_eq!(statistic(&[2f64.powi(-149), 0.0]), [1.0, -149.0]);
        assert_eq!(statistic(&[0.0, 0.0]), [0.0, 0.0]);
    }
}
