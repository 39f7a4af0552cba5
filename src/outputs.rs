//! What a norm writes, as values on the host.

use crate::slot::{BySlot, Slot};
use crate::values::Values;

/// What a norm writes, on the host.
#[derive(Debug, Clone, PartialEq)]
pub struct Outputs {
    /// The rows.
    output: Values,
    beside: BySlot<Values>,
}

impl Outputs {
    /// Rows, and nothing beside them.
    pub fn new(output: Values) -> Self {
        Self { output, beside: BySlot::default() }
    }

    /// The same with what else was written: [`Slot::ResidualOut`], [`Slot::Rstd`] or [`Slot::Scale`].
    pub fn with(mut self, slot: Slot, values: Option<Values>) -> Self {
        match (slot, values) {
            (Slot::Output, Some(values)) => self.output = values,
            (Slot::Output, None) => {}
            (_, values) => self.beside.set(slot, values),
        }
        self
    }

    /// The rows.
    pub fn output(&self) -> &Values {
        &self.output
    }

    /// The rows, and nothing else of them.
    pub fn into_output(self) -> Values {
        self.output
    }

    /// One of the outputs, where it was written.
    pub fn get(&self, slot: Slot) -> Option<&Values> {
        if slot == Slot::Output { Some(&self.output) } else { self.beside.get(slot) }
    }

    /// All that was written.
    #[cfg(feature = "gpu")]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Slot, &Values)> {
        self.beside.iter().chain([(Slot::Output, &self.output)])
    }
}
