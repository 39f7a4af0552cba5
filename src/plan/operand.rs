//! The operands of a kernel, and where each lies.

use super::layout::Placement;
use crate::dtype::DType;
use crate::error::{Detail, Error, Result};
use crate::slot::Slot;

/// Codes of 8 bits in a word.
const CODES_A_WORD: u64 = 4;

/// One operand with its dtype and place.
#[derive(Debug, Clone, Copy)]
pub(super) struct Operand {
    pub slot: Slot,
    pub dtype: DType,
    /// Elements of each of its rows; of all, where it has values for channels alone.
    pub length: u64,
    pub place: Placement,
}

impl Operand {
    /// Bytes from the start of a row to the start of the next; 0 for what has no rows. Meaningful for valid operands only.
    pub fn stride(&self) -> u64 {
        if self.slot.is_by_row() { self.place.row_stride.saturating_mul(self.dtype.size()) } else { 0 }
    }

    /// First byte behind the operand, `None` beyond 64 bits.
    pub fn end(&self, rows: u64) -> Option<u64> {
        let rows = if self.slot.is_by_row() { rows } else { 1 };
        let last_row = rows.saturating_sub(1).checked_mul(self.place.row_stride)?;
        let elements = last_row.checked_add(self.length)?;
        elements.checked_mul(self.dtype.size())?.checked_add(self.place.offset)
    }

    /// Whether the buffer has room up to the end of the word of `unit` bytes that holds the last element.
    pub fn fits(&self, rows: u64, unit: u64) -> bool {
        self.end(rows).and_then(|end| end.checked_next_multiple_of(unit)).is_some_and(|end| end <= self.place.size)
    }

    pub fn validate(&self, rows: u64) -> Result<()> {
        let Operand { slot, dtype, length, place } = *self;
        let unit = if dtype.is_code() { CODES_A_WORD } else { dtype.size() };
        if !place.offset.is_multiple_of(unit) {
            let unit_is = if dtype.is_code() { "a word of codes" } else { dtype.name() };
            return Err(Error::Buffer(Detail::new(
                format!("{slot} offset"),
                format!("a multiple of {unit} bytes, the size of {unit_is}"),
                place.offset.to_string(),
                "align the tensor to its elements",
            )));
        }
        if slot.is_by_row() && place.row_stride < length {
            return Err(Error::Shape(Detail::new(
                format!("{slot} row stride"),
                format!("at least the {length} elements of its row"),
                place.row_stride.to_string(),
                "strides count elements, not bytes; columns are always dense",
            )));
        }
        if dtype.is_code() && rows > 1 && !place.row_stride.is_multiple_of(CODES_A_WORD) {
            return Err(Error::Shape(Detail::new(
                format!("{slot} row stride"),
                "a multiple of 4 codes: rows begin with a word",
                place.row_stride.to_string(),
                "pad the rows",
            )));
        }
        // Case K8: without rows nothing is bound, and buffers may be empty. But sums over all rows are zero then, and written.
        if rows == 0 && !slot.is_parameter_gradient() {
            return Ok(());
        }
        // Bindings are made of 32-bit words: the word that holds the last element must lie in the buffer.
        match self.end(rows).and_then(|end| end.checked_next_multiple_of(4)) {
            Some(end) if end <= place.size => Ok(()),
            Some(end) => {
                let (what, fewer) = match slot.is_by_row() {
                    true => (format!("for {rows} rows from byte {}", place.offset), ", or prepare fewer rows"),
                    false => (format!("from byte {}", place.offset), ""),
                };
                Err(Error::Buffer(Detail::new(
                    slot.name(),
                    format!("a buffer of at least {end} bytes, {what}"),
                    format!("{} bytes", place.size),
                    format!("make it larger{fewer}; sizes are rounded up to 4 bytes"),
                )))
            }
            None => Err(Error::Shape(Detail::new(
                slot.name(),
                "fewer than 2^64 bytes",
                format!("{rows} rows of stride {}", place.row_stride),
                "check the shape",
            ))),
        }
    }

    /// Whether an element of one lies over an element of the other.
    pub fn overlaps(&self, other: &Operand, rows: u64) -> bool {
        let (Some(end), Some(other_end)) = (self.end(rows), other.end(rows)) else { return true };
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
        from_self < self.length * self.dtype.size() || stride - from_self < other.length * other.dtype.size()
    }
}
