//! What is normalised. Twin of `shaders/parts/value_*.wgsl`.

use crate::error::{Detail, Error, Result};
use crate::gate::{Activation, GATE_IS_SHUT};
use crate::inputs::Inputs;
use crate::slot::Slot;
use crate::spec::NormSpec;
use crate::values::{Slice, Values};

/// The sum of input and residual as it is written back: formed in f32, rounded once more to the residual's dtype.
///
/// # Errors
/// Those of [`Inputs::validate`], and [`Error::Shape`] for a norm that adds none first.
pub fn residual_sum(spec: &NormSpec, inputs: &Inputs<'_>) -> Result<Values> {
    inputs.validate(spec)?;
    let (Some(dtype), Some(residual)) = (spec.residual_out_dtype(), inputs.get(Slot::Residual)) else {
        let remedy = "ask for the sum of a norm that adds a residual";
        return Err(Error::Shape(Detail::new("residual", "a norm that adds a residual first", "one that does not", remedy)));
    };
    Ok(Values::round_from(dtype, &sums(inputs, residual)))
}

/// The sums in f32, exact as f64.
fn sums(inputs: &Inputs<'_>, residual: Slice<'_>) -> Vec<f64> {
    let sum = |index: usize| f64::from((inputs.input().at(index) + residual.at(index)) as f32);
    (0..inputs.input().len()).map(sum).collect()
}

/// What is normalised: the input, its sum with the residual, rounded where the spec says so, or its product with a gate.
pub(crate) fn values(spec: &NormSpec, inputs: &Inputs<'_>) -> Vec<f64> {
    match (inputs.get(Slot::Residual), inputs.get(Slot::Gate)) {
        (Some(residual), _) if spec.residual_out_dtype().is_some() => {
            let mut sums = sums(inputs, residual);
            if let Some(dtype) = spec.sum_rounded_to() {
                sums.iter_mut().for_each(|sum| *sum = dtype.round(*sum));
            }
            sums
        }
        (_, Some(values)) if spec.gates_input() => {
            let opening = |index: usize| opening(spec.activation, values.at(index));
            (0..values.len()).map(|index| inputs.input().at(index) * opening(index)).collect()
        }
        _ => inputs.input().widen(),
    }
}

/// What a gate opens to; below -700 it is shut.
pub(crate) fn opening(activation: Activation, z: f64) -> f64 {
    let numerator = match activation {
        Activation::Silu => z,
        Activation::Sigmoid => 1.0,
    };
    if z < GATE_IS_SHUT { numerator * 0.0 } else { numerator / (1.0 + (-z).exp()) }
}

/// The derivative of what a gate opens to; below -700 it is shut.
pub(crate) fn slope_of_opening(activation: Activation, z: f64) -> f64 {
    if z < GATE_IS_SHUT {
        return 0.0;
    }
    let open = 1.0 / (1.0 + (-z).exp());
    let shut = 1.0 / (1.0 + z.exp());
    match activation {
        Activation::Sigmoid => open * shut,
        Activation::Silu if z == f64::INFINITY => 1.0,
        Activation::Silu => open * (1.0 + z * shut),
    }
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

    #[test]
    fn slopes_are_those_of_the_openings() {
        for activation in Activation::ALL {
            for z in [-30.0, -2.0, -0.1, 0.0, 0.7, 5.0, 20.0] {
                let step = 1e-5;
                let difference = (opening(activation, z + step) - opening(activation, z - step)) / (2.0 * step);
                approx::assert_abs_diff_eq!(slope_of_opening(activation, z), difference, epsilon = 1e-9);
            }
            assert_eq!(slope_of_opening(activation, -800.0), 0.0);
        }
        assert_eq!(slope_of_opening(Activation::Silu, f64::INFINITY), 1.0);
    }

    #[test]
    fn silu_is_z_times_its_sigmoid() {
        let silu = |z| opening(Activation::Silu, z);
        let sigmoid = |z| opening(Activation::Sigmoid, z);
        approx::assert_relative_eq!(silu(1.0), 0.731_058_578_630_004_9, max_relative = f64::EPSILON);
        assert_eq!((silu(0.0), silu(800.0), silu(-800.0)), (0.0, 800.0, 0.0));
        assert!(silu(-699.0) < 0.0 && silu(f64::NEG_INFINITY).is_nan() && silu(f64::INFINITY) == f64::INFINITY);
        assert_eq!((sigmoid(0.0), sigmoid(f64::INFINITY), sigmoid(f64::NEG_INFINITY)), (0.5, 1.0, 0.0));
        assert_eq!(sigmoid(-3.0) * -3.0, silu(-3.0));
    }
}
