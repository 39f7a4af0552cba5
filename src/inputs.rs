//! What a norm reads, as slices on the host.

use crate::error::{Detail, Error, Result};
use crate::slot::{BySlot, Slot};
use crate::spec::NormSpec;
use crate::values::Slice;

/// What a norm reads, on the host: rows, and what goes with them.
///
/// ```
/// use wgpu_rmsnorm::Inputs;
///
/// let inputs = Inputs::new(&[3.0f32, 4.0]).weight(&[0.5f32, 0.5]);
/// # let _ = inputs;
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a>(BySlot<Slice<'a>>);

impl<'a> Inputs<'a> {
    /// Whole rows, one after the other, and nothing else.
    pub fn new(input: impl Into<Slice<'a>>) -> Self {
        Self(BySlot::default()).with(Slot::Input, Some(input.into()))
    }
    /// The same with a weight: one value a channel, or as [`WeightOf`](crate::WeightOf) says.
    pub fn weight(self, weight: impl Into<Slice<'a>>) -> Self {
        self.with(Slot::Weight, Some(weight.into()))
    }
    /// The same with a bias: as many values as a weight has.
    pub fn bias(self, bias: impl Into<Slice<'a>>) -> Self {
        self.with(Slot::Bias, Some(bias.into()))
    }
    /// The same with a residual: as many rows as the input has.
    pub fn residual(self, residual: impl Into<Slice<'a>>) -> Self {
        self.with(Slot::Residual, Some(residual.into()))
    }
    /// The same with a gate: as many rows as the input has.
    pub fn gate(self, gate: impl Into<Slice<'a>>) -> Self {
        self.with(Slot::Gate, Some(gate.into()))
    }
    /// The same with the statistics of all shards: for each row a sum and an exponent a shard, as [`NormSpec::stats`] writes
    /// them.
    pub fn statistics(self, statistics: impl Into<Slice<'a>>) -> Self {
        self.with(Slot::Statistics, Some(statistics.into()))
    }
    /// The same with the scale of each row, as the forward pass wrote it. For [`NormSpec::saved_rstd`].
    pub fn saved_rstd(self, rstd: impl Into<Slice<'a>>) -> Self {
        self.with(Slot::SavedRstd, Some(rstd.into()))
    }
    /// The same with the gradient of the output. For [`NormSpec::backward`].
    pub fn grad_output(self, grad_output: impl Into<Slice<'a>>) -> Self {
        self.with(Slot::GradOutput, Some(grad_output.into()))
    }
    /// The same with what the gradient of the weight is added to; zeros where it is left out. For [`NormSpec::accumulate`].
    pub fn grad_weight(self, grad_weight: impl Into<Slice<'a>>) -> Self {
        self.with(Slot::GradWeight, Some(grad_weight.into()))
    }
    /// The same with what the gradient of the bias is added to; zeros where it is left out. For [`NormSpec::accumulate`].
    pub fn grad_bias(self, grad_bias: impl Into<Slice<'a>>) -> Self {
        self.with(Slot::GradBias, Some(grad_bias.into()))
    }
    /// The same with the gradient of the sum that was written back. For [`NormSpec::grad_residual_out`].
    pub fn grad_residual_out(self, grad_residual_out: impl Into<Slice<'a>>) -> Self {
        self.with(Slot::GradResidualOut, Some(grad_residual_out.into()))
    }
    /// The same with an operand put in, or taken out.
    pub fn with(mut self, slot: Slot, values: Option<Slice<'a>>) -> Self {
        self.0.set(slot, values);
        self
    }

    /// An operand, where it is there.
    pub fn get(&self, slot: Slot) -> Option<Slice<'a>> {
        self.0.get(slot).copied()
    }

    /// The rows.
    pub fn input(&self) -> Slice<'a> {
        self.get(Slot::Input).unwrap_or(Slice::F32(&[]))
    }

    /// The operands that are there.
    #[cfg(feature = "gpu")]
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Slot, Slice<'a>)> {
        self.0.iter().map(|(slot, values)| (slot, *values))
    }

    /// Some of the rows, with all else.
    #[cfg(feature = "gpu")]
    pub(crate) fn rows(&self, spec: &NormSpec, rows: std::ops::Range<u64>) -> Self {
        let part = |slot: Slot, values: &Slice<'a>| {
            let row = if slot.is_by_row() { spec.length_of(slot) } else { 0 };
            if row == 0 { *values } else { values.range((rows.start * row) as usize..(rows.end * row) as usize) }
        };
        Self(self.0.map(part))
    }

    /// Checks them against a norm and returns the number of rows.
    ///
    /// # Errors
    /// [`Error::Shape`] for lengths that do not fit, [`Error::DType`] for dtypes that do not.
    pub fn validate(&self, spec: &NormSpec) -> Result<u64> {
        spec.validate()?;
        let rows = spec.rows_in("input", self.input().len() as u64)?;
        for slot in Slot::ALL {
            if slot.is_written() && self.get(slot).is_some() && !spec.adds_to(slot) {
                let remedy = "leave it out: Norm::run returns what is written";
                return Err(Error::Shape(Detail::new(slot.name(), "what a norm reads", "what it writes", remedy)));
            }
            self.validate_one(spec, slot, rows)?;
        }
        Ok(rows)
    }

    fn validate_one(&self, spec: &NormSpec, slot: Slot, rows: u64) -> Result<()> {
        let length = spec.length_of(slot) * if slot.is_by_row() { rows } else { 1 };
        let read = spec.dtype_of(slot).filter(|_| !slot.is_written() || spec.adds_to(slot));
        let (dtype, values) = match (read, self.get(slot)) {
            (None, None) => return Ok(()),
            // Sums begin at zero.
            (Some(_), None) if slot.is_written() => return Ok(()),
            (Some(dtype), Some(values)) => (dtype, values),
            (Some(_), None) => {
                return Err(Error::Shape(Detail::new(
                    slot.name(),
                    format!("{length} elements, for the norm reads {slot}"),
                    "none",
                    match slot {
                        Slot::Input | Slot::GradOutput => format!("pass the {slot}"),
                        _ => format!("pass the {slot}, or make a norm without one"),
                    },
                )));
            }
            (None, Some(_)) => {
                return Err(Error::Shape(Detail::new(
                    slot.name(),
                    format!("none, for the norm reads no {slot}"),
                    "one",
                    match spec.backward {
                        Some(_) => format!("leave the {slot} out: a backward pass has no use for it"),
                        None => format!("leave the {slot} out, or make a norm with one"),
                    },
                )));
            }
        };
        if values.dtype() != dtype {
            return Err(Error::DType(Detail::new(
                slot.name(),
                format!("{dtype} elements"),
                values.dtype().name(),
                "convert the data, or set the norm's dtype to the data's",
            )));
        }
        if values.len() as u64 == length {
            return Ok(());
        }
        let (expected, remedy) = match slot {
            slot if !slot.is_by_row() && spec.length_of(slot) == spec.hidden => {
                ("hidden", "pass one value a channel; nothing is broadcast")
            }
            slot if !slot.is_by_row() => ("values of the heads", "pass one value a channel of a head, for each weight"),
            Slot::Statistics => ("two numbers a row and shard", "gather what stats wrote as [rows, shards, 2]"),
            _ => ("the input's rows", "pass as many rows as the input has"),
        };
        Err(Error::Shape(Detail::new(
            slot.name(),
            format!("{expected} = {length} elements"),
            format!("{} elements", values.len()),
            remedy,
        )))
    }
}
