//! The operands of a kernel, and where each lies.

use std::fmt;

use super::layout::Placement;
use crate::dtype::DType;
use crate::error::{Detail, Error, Result};

/// What an operand is to the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Slot {
    /// The rows read.
    Input,
    /// One value a channel: the factor.
    Weight,
    /// One value a channel: the summand.
    Bias,
    /// The rows added to the input, or to the result.
    Residual,
    /// The sum with the input, written back.
    ResidualOut,
    /// The rows written.
    Output,
}

impl Slot {
    /// How many there are.
    pub(crate) const COUNT: usize = Slot::Output as usize + 1;

    /// The operand's name, as messages and shaders have it.
    pub const fn name(self) -> &'static str {
        match self {
            Slot::Input => "input",
            Slot::Weight => "weight",
            Slot::Bias => "bias",
            Slot::Residual => "residual",
            Slot::ResidualOut => "residual_out",
            Slot::Output => "output",
        }
    }

    /// Whether the kernel writes it.
    pub const fn is_written(self) -> bool {
        match self {
            Slot::Input | Slot::Weight | Slot::Bias | Slot::Residual => false,
            Slot::ResidualOut | Slot::Output => true,
        }
    }

    /// Whether it has a row for every row, rather than one value a channel.
    pub const fn is_by_row(self) -> bool {
        match self {
            Slot::Input | Slot::Residual | Slot::ResidualOut | Slot::Output => true,
            Slot::Weight | Slot::Bias => false,
        }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One operand with its dtype and place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operand {
    pub slot: Slot,
    pub dtype: DType,
    pub place: Placement,
}

impl Operand {
    /// Bytes from the start of a row to the start of the next; 0 for what has no rows. Meaningful for valid operands only.
    pub fn stride(&self) -> u64 {
        if self.slot.is_by_row() { self.place.row_stride.saturating_mul(self.dtype.size()) } else { 0 }
    }

    /// First byte behind the operand, `None` beyond 64 bits.
    pub fn end(&self, hidden: u64, rows: u64) -> Option<u64> {
        let rows = if self.slot.is_by_row() { rows } else { 1 };
        let last_row = rows.saturating_sub(1).checked_mul(self.place.row_stride)?;
        let elements = last_row.checked_add(hidden)?;
        elements.checked_mul(self.dtype.size())?.checked_add(self.place.offset)
    }

    pub fn validate(&self, hidden: u64, rows: u64) -> Result<()> {
        let Operand { slot, dtype, place } = *self;
        if !place.offset.is_multiple_of(dtype.size()) {
            return Err(Error::Buffer(Detail::new(
                format!("{slot} offset"),
                format!("a multiple of {} bytes, the size of {dtype}", dtype.size()),
                place.offset.to_string(),
                "align the tensor to its elements",
            )));
        }
        if slot.is_by_row() && place.row_stride < hidden {
            return Err(Error::Shape(Detail::new(
                format!("{slot} row stride"),
                format!("at least hidden = {hidden} elements"),
                place.row_stride.to_string(),
                "strides count elements, not bytes; columns are always dense",
            )));
        }
        // Case K8: without rows nothing is bound, and buffers may be empty.
        if rows == 0 {
            return Ok(());
        }
        // Bindings are made of 32-bit words: the word that holds the last element must lie in the buffer.
        match self.end(hidden, rows).and_then(|end| end.checked_next_multiple_of(4)) {
            Some(end) if end <= place.size => Ok(()),
            Some(end) => Err(Error::Buffer(Detail::new(
                slot.name(),
                format!("a buffer of at least {end} bytes, for {rows} rows from byte {}", place.offset),
                format!("{} bytes", place.size),
                "make it larger, or prepare fewer rows; sizes are rounded up to 4 bytes",
            ))),
            None => Err(Error::Shape(Detail::new(
                slot.name(),
                "fewer than 2^64 bytes",
                format!("{rows} rows of stride {}", place.row_stride),
                "check the shape",
            ))),
        }
    }

    /// Whether an element of one lies over an element of the other.
    pub fn overlaps(&self, other: &Operand, hidden: u64, rows: u64) -> bool {
        let (Some(end), Some(other_end)) = (self.end(hidden, rows), other.end(hidden, rows)) else { return true };
        if end <= other.place.offset || other_end <= self.place.offset {
            return false;
        }
        // Columns of one matrix may interleave: equal strides, and neither row reaches into the other.
        let stride = self.stride();
        if stride == 0 || stride != other.stride() {
            return true;
        }
        let (a, b) = (self.place.offset % stride, other.place.offset % stride);
        let from_self = if b >= a { b - a } else { stride - (a - b) };
        from_self < hidden * self.dtype.size() || stride - from_self < hidden * other.dtype.size()
    }
}
