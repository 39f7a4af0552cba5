//! Twin of `shaders/parts/codes_*.wgsl`.

use super::norm::norm;
use crate::dtype::DType;
use crate::error::{Detail, Error, Result};
use crate::inputs::Inputs;
use crate::quantized::SMALLEST_SCALE;
use crate::spec::NormSpec;

/// The codes of each row as numbers, and the scale of each row (of each group): `y` is about code times scale.
///
/// # Errors
/// Those of [`Inputs::validate`], and [`Error::Shape`] for a norm that is not quantised.
pub fn quantized(spec: &NormSpec, inputs: &Inputs<'_>) -> Result<(Vec<f64>, Vec<f64>)> {
    let Some(quantized) = spec.quantized else {
        let remedy = "ask for the codes of a norm made with NormSpec::quantized";
        return Err(Error::Shape(Detail::new("spec", "one whose output is quantised", "another", remedy)));
    };
    let mut codes = norm(spec, inputs)?;
    let groups = codes.chunks_exact_mut(spec.group_length() as usize);
    let scales = groups.map(|group| {
        // Codes are those of the f32 result, which may be infinite.
        group.iter_mut().filter(|y| y.abs() > DType::F32.largest()).for_each(|y| *y = DType::F32.round(*y));
        let scale = quantized.scale.map_or_else(|| scale_of(group, quantized.dtype.largest()), f64::from);
        group.iter_mut().for_each(|y| *y = quantized.dtype.round(*y / scale));
        scale
    });
    let scales = scales.collect();
    Ok((codes, scales))
}

/// The scale by which the largest of these is the largest code.
pub(super) fn scale_of(results: &[f64], largest_code: f64) -> f64 {
    let largest = results.iter().fold(0.0f64, |largest, y| if y.is_nan() { f64::NAN } else { largest.max(y.abs()) });
    if results.iter().any(|y| y.is_nan()) {
        return f64::NAN;
    }
    if largest == 0.0 { 1.0 } else { (largest / largest_code).max(f64::from(SMALLEST_SCALE)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_zeros_has_the_scale_one_and_codes_of_zero() {
        let spec = NormSpec::torch(3, 0.0).without_weight().quantized(DType::F8E4M3);
        assert_eq!(quantized(&spec, &Inputs::new(&[0f32; 3])).unwrap(), (vec![0.0; 3], vec![1.0]));
    }

    #[test]
    fn a_given_scale_is_taken_and_codes_saturate() {
        let spec = NormSpec::torch(2, 0.0).without_weight().quantized_by(DType::I8, 0.01);
        let (codes, scales) = quantized(&spec, &Inputs::new(&[1.0f32, 3.0])).unwrap();
        assert_eq!((codes, scales), (vec![45.0, 127.0], vec![f64::from(0.01f32)]));
    }
}
