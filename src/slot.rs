//! The operands of a norm: their names, what each is for, and a place to keep something for each.

use std::fmt;
use std::str::FromStr;

use crate::error::{Detail, Error, Result};

/// What an operand is to a norm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Slot {
    /// The rows read.
    Input,
    /// The factors of channels.
    Weight,
    /// The summands of channels.
    Bias,
    /// The rows added to the input, or to the result.
    Residual,
    /// The rows that open to a factor of the input, or of the result.
    Gate,
    /// What the shards of a row found, a sum and an exponent each.
    Statistics,
    /// The scale of each row as the forward pass wrote it, read by a backward pass.
    SavedRstd,
    /// The gradient of what the forward pass wrote.
    GradOutput,
    /// The gradient of the sum that the forward pass wrote back.
    GradResidualOut,
    /// The sum with the input, written back.
    ResidualOut,
    /// The scale of each row (of each group), `1/sqrt(mean + eps)`, written in f32.
    Rstd,
    /// What each row's codes are multiplied by to get its values, written in f32.
    Scale,
    /// The gradient of the gate.
    GradGate,
    /// The gradient of the weight.
    GradWeight,
    /// The gradient of the bias.
    GradBias,
    /// The rows written: in a backward pass the gradient of the input.
    Output,
}

impl Slot {
    /// All of them, what is read before what is written, the output last.
    pub const ALL: [Slot; 16] = [
        Slot::Input,
        Slot::Weight,
        Slot::Bias,
        Slot::Residual,
        Slot::Gate,
        Slot::Statistics,
        Slot::SavedRstd,
        Slot::GradOutput,
        Slot::GradResidualOut,
        Slot::ResidualOut,
        Slot::Rstd,
        Slot::Scale,
        Slot::GradGate,
        Slot::GradWeight,
        Slot::GradBias,
        Slot::Output,
    ];

    /// How many there are.
    pub(crate) const COUNT: usize = Slot::ALL.len();

    /// The operand's name, as messages, shaders and the program have it.
    pub const fn name(self) -> &'static str {
        match self {
            Slot::Input => "input",
            Slot::Weight => "weight",
            Slot::Bias => "bias",
            Slot::Residual => "residual",
            Slot::Gate => "gate",
            Slot::Statistics => "statistics",
            Slot::SavedRstd => "saved_rstd",
            Slot::GradOutput => "grad_output",
            Slot::GradResidualOut => "grad_residual_out",
            Slot::ResidualOut => "residual_out",
            Slot::Rstd => "rstd",
            Slot::Scale => "scale",
            Slot::GradGate => "grad_gate",
            Slot::GradWeight => "grad_weight",
            Slot::GradBias => "grad_bias",
            Slot::Output => "output",
        }
    }

    /// Whether the kernel writes it.
    pub const fn is_written(self) -> bool {
        use Slot::{GradBias, GradGate, GradWeight, Output, ResidualOut, Rstd, Scale};
        matches!(self, ResidualOut | Rstd | Scale | GradGate | GradWeight | GradBias | Output)
    }

    /// Whether it has a row for every row of the input, rather than values for channels alone.
    pub const fn is_by_row(self) -> bool {
        !matches!(self, Slot::Weight | Slot::Bias) && !self.is_parameter_gradient()
    }

    /// Whether it is a sum over all rows.
    pub const fn is_parameter_gradient(self) -> bool {
        matches!(self, Slot::GradWeight | Slot::GradBias)
    }

    /// Whether each of its rows has the input's channels.
    pub const fn is_like_input(self) -> bool {
        self.is_by_row() && !self.is_narrow()
    }

    /// Whether it has a few numbers for each row, rather than channels.
    pub(crate) const fn is_narrow(self) -> bool {
        matches!(self, Slot::Statistics | Slot::SavedRstd | Slot::Rstd | Slot::Scale)
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name, as [`Slot::name`] has it.
impl FromStr for Slot {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        Slot::ALL.into_iter().find(|slot| slot.name() == name).ok_or_else(|| {
            let names = Slot::ALL.map(Slot::name).join(", ");
            Error::Plan(Detail::new("operand", format!("one of {names}"), format!("{name:?}"), "choose one of these"))
        })
    }
}

/// Something for each operand that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BySlot<T>([Option<T>; Slot::COUNT]);

impl<T> Default for BySlot<T> {
    fn default() -> Self {
        Self([const { None }; Slot::COUNT])
    }
}

impl<T> BySlot<T> {
    /// That of an operand, where it is there.
    pub const fn get(&self, slot: Slot) -> Option<&T> {
        self.0[slot as usize].as_ref()
    }
    /// Puts one in, or takes it out.
    pub fn set(&mut self, slot: Slot, value: Option<T>) {
        self.0[slot as usize] = value;
    }
    /// Takes one out.
    pub fn take(&mut self, slot: Slot) -> Option<T> {
        self.0[slot as usize].take()
    }
    /// Those that are there, in the order of [`Slot::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Slot, &T)> {
        Slot::ALL.into_iter().zip(&self.0).filter_map(|(slot, value)| Some((slot, value.as_ref()?)))
    }
    /// Those that are there, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Slot, &mut T)> {
        Slot::ALL.into_iter().zip(&mut self.0).filter_map(|(slot, value)| Some((slot, value.as_mut()?)))
    }
    /// Something else for each that is there.
    pub fn map<U>(&self, change: impl Fn(Slot, &T) -> U) -> BySlot<U> {
        let mut mapped = BySlot::default();
        self.iter().for_each(|(slot, value)| mapped.set(slot, Some(change(slot, value))));
        mapped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_numbered_as_they_are_listed() {
        for (index, slot) in Slot::ALL.into_iter().enumerate() {
            assert_eq!(slot as usize, index);
            assert_eq!(slot.name().parse::<Slot>().unwrap(), slot);
        }
        assert!("scales".parse::<Slot>().is_err());
    }
}
