//! Norms from objects.

use wasm_bindgen::JsValue;
use wgpu_rmsnorm::{Activation, DType, NormSpec, Preset};

use crate::error::{Refused, Result, describe};
use crate::fields::Fields;

/// The fields of a norm, as index.d.ts has them.
const FIELDS: [&str; 17] = [
    "hidden",
    "eps",
    "preset",
    "dtype",
    "input",
    "weight",
    "bias",
    "output",
    "weight_offset",
    "groups",
    "statistics_length",
    "add_residual",
    "then_add_residual",
    "gate_input",
    "gate_output",
    "activation",
    "rstd",
];

/// What an operand may be said to be.
enum Operand {
    /// Nothing is said.
    Usual,
    /// It is not there.
    Without,
    /// It is of this dtype.
    Of(DType),
}

/// The norm that an object describes. Whether its fields go together is for the library to say.
pub fn from_js(object: &JsValue) -> Result<NormSpec> {
    let fields = Fields::new("spec", object, &FIELDS, Refused::Spec)?;
    let missing = |name: &str, expected: &str, remedy: &str| Refused::Spec.because(name, expected, "nothing", remedy);
    let hidden = fields.whole("hidden")?;
    let hidden = hidden.ok_or_else(|| missing("hidden", "at least 1", "pass the length of the last dimension"))?;
    let eps = fields.single("eps")?.ok_or_else(|| missing("eps", "a number", "models use 1e-5 or 1e-6"))?;
    let preset = fields.text("preset", "a preset's name")?.map(|name| name.parse::<Preset>()).transpose()?;
    let mut spec = preset.unwrap_or(Preset::Torch).spec(hidden, eps);
    if let Some(dtype) = dtype(&fields, "dtype")? {
        spec = spec.dtype(dtype);
    }
    if let Some(dtype) = dtype(&fields, "input")? {
        spec = spec.input(dtype);
    }
    spec = match operand(&fields, "weight")? {
        Operand::Usual => spec,
        Operand::Without => spec.without_weight(),
        Operand::Of(dtype) => spec.weight(dtype),
    };
    spec = match operand(&fields, "bias")? {
        Operand::Usual => spec,
        Operand::Without => spec.without_bias(),
        Operand::Of(dtype) => spec.bias(dtype),
    };
    if let Some(offset) = fields.single("weight_offset")? {
        spec = spec.weight_offset(offset);
    }
    if let Some(groups) = fields.whole("groups")? {
        spec = spec.groups(groups);
    }
    if let Some(channels) = fields.whole("statistics_length")? {
        spec = spec.partial(channels);
    }
    spec = match either(&fields, "add_residual", "then_add_residual")? {
        (Some(dtype), _) => spec.add_residual(dtype),
        (_, Some(dtype)) => spec.then_add_residual(dtype),
        _ => spec,
    };
    spec = match either(&fields, "gate_input", "gate_output")? {
        (Some(dtype), _) => spec.gate_input(dtype),
        (_, Some(dtype)) => spec.gate_output(dtype),
        _ => spec,
    };
    let activation = fields.text("activation", "an activation's name")?.map(|name| name.parse::<Activation>()).transpose()?;
    if activation == Some(Activation::Sigmoid) {
        spec = spec.sigmoid();
    }
    if fields.flag("rstd")? == Some(true) {
        spec = spec.rstd();
    }
    if let Some(dtype) = dtype(&fields, "output")? {
        spec = spec.output(dtype);
    }
    spec.validate()?;
    Ok(spec)
}

/// The dtype in a field, where it is there.
fn dtype(fields: &Fields<'_>, name: &str) -> Result<Option<DType>> {
    fields.get(name).map(|value| dtype_of(name, &value)).transpose()
}

/// The dtype that a value names.
pub fn dtype_of(name: &str, value: &JsValue) -> Result<DType> {
    let named = value.as_string().and_then(|name| DType::ALL.into_iter().find(|dtype| dtype.name() == name));
    named.ok_or_else(|| {
        let expected = DType::ALL.map(|dtype| format!("{:?}", dtype.name())).join(", ");
        Refused::Spec.because(name, &expected, &describe(value), "choose one of these")
    })
}

fn operand(fields: &Fields<'_>, name: &str) -> Result<Operand> {
    match fields.get(name) {
        None => Ok(Operand::Usual),
        Some(value) if value.is_null() => Ok(Operand::Without),
        Some(value) => dtype_of(name, &value).map(Operand::Of),
    }
}

/// Two fields of which a norm has one at most.
fn either(fields: &Fields<'_>, first: &str, second: &str) -> Result<(Option<DType>, Option<DType>)> {
    let both = (dtype(fields, first)?, dtype(fields, second)?);
    if let (Some(_), Some(_)) = both {
        let actual = format!("{first} and {second}");
        return Err(Refused::Spec.because(second, "one of the two", &actual, "leave one out: a norm has one at most"));
    }
    Ok(both)
}
