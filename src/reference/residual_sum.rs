//! Twin of `shaders/parts/value_sum.wgsl`.

use crate::error::{Detail, Error, Result};
use crate::inputs::Inputs;
use crate::spec::NormSpec;
use crate::values::Values;

/// The sum of input and residual as it is written back: formed in f32, rounded once more to the residual's dtype.
///
/// # Errors
/// Those of [`Inputs::validate`], and [`Error::Shape`] for a norm that adds none first.
pub fn residual_sum(spec: &NormSpec, inputs: &Inputs<'_>) -> Result<Values> {
    inputs.validate(spec)?;
    let (Some(dtype), Some(residual)) = (spec.residual_out_dtype(), inputs.residual) else {
        let remedy = "ask for the sum of a norm that adds a residual";
        return Err(Error::Shape(Detail::new("residual", "a norm that adds a residual first", "one that does not", remedy)));
    };
    Ok(Values::round_from(dtype, &sums(inputs, residual)))
}

/// The sums in f32, exact as f64.
pub(super) fn sums(inputs: &Inputs<'_>, residual: crate::values::Slice<'_>) -> Vec<f64> {
    let sum = |index: usize| f64::from((inputs.input.at(index) + residual.at(index)) as f32);
    (0..inputs.input.len()).map(sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dtype::DType;

    #[test]
    fn the_sum_is_rounded_to_f32_and_then_to_the_residual() {
        let spec = NormSpec::torch(2, 1e-6).without_weight().dtype(DType::BF16).add_residual(DType::BF16);
        // 1 + 2^-8 is a tie, which goes to the even 1; beside it f32 decides.
        let values = |v: [f64; 2]| Values::round_from(DType::BF16, &v);
        let (x, r) = (values([1.0, 1.0]), values([2f64.powi(-8), 2f64.powi(-7)]));
        let sum = residual_sum(&spec, &Inputs::new(&x).residual(&r)).unwrap();
        assert_eq!(sum.as_slice().widen(), [1.0, 1.0078125]);
        assert!(residual_sum(&NormSpec::torch(2, 1e-6).without_weight().dtype(DType::BF16), &Inputs::new(&x)).is_err());
    }
}
