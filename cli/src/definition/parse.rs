//! Values of flags.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use wgpu_rmsnorm::{Activation, DType, Preset};

/// Parses an eps. What f32 would turn into another number, 0 or infinity, is refused.
pub fn eps(text: &str) -> Result<f32, String> {
    let exact: f64 = text.parse().map_err(|_| "expected a number, such as 1e-6".to_owned())?;
    eps_of(exact).ok_or_else(|| "expected 0, or a number between 1e-45 and 3e38; models use 1e-5 or 1e-6".to_owned())
}

/// An eps in f32, `None` where f32 does not hold it.
pub fn eps_of(exact: f64) -> Option<f32> {
    let eps = exact as f32;
    (eps.is_finite() && exact >= 0.0 && (eps != 0.0 || exact == 0.0)).then_some(eps)
}

/// Parses a preset's name; `--help` lists them.
pub fn preset_parser() -> impl TypedValueParser<Value = Preset> {
    PossibleValuesParser::new(Preset::ALL.map(Preset::name)).try_map(|name| name.parse::<Preset>())
}

/// Parses the name of what a gate opens to; `--help` lists them.
pub fn activation_parser() -> impl TypedValueParser<Value = Activation> {
    PossibleValuesParser::new(Activation::ALL.map(Activation::name)).try_map(|name| name.parse::<Activation>())
}

/// Parses the name of a dtype that operands may have; `--help` lists them.
pub fn dtype_parser() -> impl TypedValueParser<Value = DType> {
    among(&DType::ALL)
}

/// Parses the name of a dtype of codes.
pub fn code_parser() -> impl TypedValueParser<Value = DType> {
    among(&DType::CODES)
}

fn among(dtypes: &[DType]) -> impl TypedValueParser<Value = DType> + use<> {
    let values: Vec<_> = dtypes.iter().map(|dtype| PossibleValue::new(dtype.name()).alias(dtype.long_name())).collect();
    PossibleValuesParser::new(values).try_map(|name| name.parse::<DType>())
}
