//! What a norm reads, as slices on the host.

use crate::dtype::DType;
use crate::error::{Detail, Error, Result};
use crate::spec::NormSpec;
use crate::values::Slice;

/// What a norm reads, on the host: rows, and what weights and shifts their channels.
///
/// ```
/// use wgpu_rmsnorm::Inputs;
///
/// let inputs = Inputs::new(&[3.0f32, 4.0]).weight(&[0.5f32, 0.5]);
/// # let _ = inputs;
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Inputs<'a> {
    /// Whole rows, one after the other.
    pub input: Slice<'a>,
    /// One value a channel.
    pub weight: Option<Slice<'a>>,
    /// One value a channel.
    pub bias: Option<Slice<'a>>,
    /// As many rows as the input has, added to it or to the result.
    pub residual: Option<Slice<'a>>,
}

impl<'a> Inputs<'a> {
    /// Rows, without weight and bias.
    pub fn new(input: impl Into<Slice<'a>>) -> Self {
        Self { input: input.into(), weight: None, bias: None, residual: None }
    }
    /// The same with a weight.
    pub fn weight(mut self, weight: impl Into<Slice<'a>>) -> Self {
        self.weight = Some(weight.into());
        self
    }
    /// The same with a bias.
    pub fn bias(mut self, bias: impl Into<Slice<'a>>) -> Self {
        self.bias = Some(bias.into());
        self
    }

    /// The same with a residual.
    pub fn residual(mut self, residual: impl Into<Slice<'a>>) -> Self {
        self.residual = Some(residual.into());
        self
    }

    /// Checks them against a norm and returns the number of rows.
    ///
    /// # Errors
    /// [`Error::Shape`] for lengths that do not fit, [`Error::DType`] for dtypes that do not.
    pub fn validate(&self, spec: &NormSpec) -> Result<u64> {
        spec.validate()?;
        expect_dtype("input", spec.input, self.input)?;
        sized("weight", CHANNELS, spec.hidden, spec.weight, self.weight)?;
        sized("bias", CHANNELS, spec.hidden, spec.bias, self.bias)?;
        sized("residual", ROWS, self.input.len() as u64, spec.residual_dtype(), self.residual)?;
        spec.rows_in("input", self.input.len() as u64)
    }
}

fn expect_dtype(argument: &str, expected: DType, got: Slice<'_>) -> Result<()> {
    if got.dtype() == expected {
        return Ok(());
    }
    Err(Error::DType(Detail::new(
        argument,
        format!("{expected} elements"),
        got.dtype().name(),
        "convert the data, or set the norm's dtype to the data's",
    )))
}

/// What an operand has one element for.
struct Extent {
    expected: &'static str,
    remedy: &'static str,
}

const CHANNELS: Extent = Extent { expected: "hidden", remedy: "pass one value a channel; nothing is broadcast" };
const ROWS: Extent = Extent { expected: "the input's", remedy: "pass as many rows as the input has" };

fn sized(argument: &str, extent: Extent, length: u64, expected: Option<DType>, got: Option<Slice<'_>>) -> Result<()> {
    let (dtype, values) = match (expected, got) {
        (None, None) => return Ok(()),
        (Some(dtype), Some(values)) => (dtype, values),
        (Some(_), None) => {
            return Err(Error::Shape(Detail::new(
                argument,
                format!("{length} elements, for the norm has a {argument}"),
                "none",
                format!("pass the {argument}, or make a norm without one"),
            )));
        }
        (None, Some(_)) => {
            return Err(Error::Shape(Detail::new(
                argument,
                format!("none, for the norm has no {argument}"),
                "one",
                format!("leave the {argument} out, or make a norm with one"),
            )));
        }
    };
    expect_dtype(argument, dtype, values)?;
    if values.len() as u64 != length {
        return Err(Error::Shape(Detail::new(
            argument,
            format!("{} = {length} elements", extent.expected),
            format!("{} elements", values.len()),
            extent.remedy,
        )));
    }
    Ok(())
}
