//! What a norm writes, as values on the host.

use crate::values::Values;

/// What a norm writes, on the host.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Outputs {
    /// The normalised rows.
    pub output: Values,
    /// The sum of input and residual, where a residual is added first.
    pub residual_out: Option<Values>,
}

impl Outputs {
    /// The normalised rows.
    pub fn new(output: Values) -> Self {
        Self { output, residual_out: None }
    }

    /// The same with the sum of input and residual.
    pub fn residual_out(mut self, sum: Option<Values>) -> Self {
        self.residual_out = sum;
        self
    }
}
