//! What a norm writes, as values on the host.

use crate::values::Values;

/// What a norm writes, on the host.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outputs {
    /// The normalised rows.
    pub output: Values,
    /// The sum of input and residual, where the norm has a residual.
    pub residual_out: Option<Values>,
}

impl Outputs {
    pub(crate) fn new(output: Values, residual_out: Option<Values>) -> Self {
        Self { output, residual_out }
    }
}
