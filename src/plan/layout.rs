//! Where the operands lie: offsets, strides, shared buffers, in place.

use crate::dtype::DType;
use crate::error::{Detail, Error, Result};
use crate::spec::NormSpec;

/// Where one operand lies in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Placement {
    /// Which buffer: operands with the same number share one.
    pub buffer: u32,
    /// The buffer's size in bytes.
    pub size: u64,
    /// First byte of the operand. A multiple of the dtype's size, and of nothing else.
    pub offset: u64,
    /// Elements from the start of a row to the start of the next. At least `hidden`. Ignored for weight and bias.
    pub row_stride: u64,
}

/// Where all operands lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout {
    /// The rows read.
    pub input: Placement,
    /// One value a channel.
    pub weight: Option<Placement>,
    /// One value a channel.
    pub bias: Option<Placement>,
    /// The rows written; equal to `input` for the in-place form.
    pub output: Placement,
}

impl Layout {
    /// Every operand in a buffer of its own, from its first byte, rows one after the other.
    pub fn contiguous(spec: &NormSpec, rows: u64) -> Self {
        let place = |buffer, dtype: DType, rows: u64| Placement {
            buffer,
            size: rows.saturating_mul(spec.hidden).saturating_mul(dtype.size()).max(16).next_multiple_of(16),
            offset: 0,
            row_stride: spec.hidden,
        };
        Self {
            input: place(0, spec.input, rows),
            weight: spec.weight.map(|d| place(1, d, 1)),
            bias: spec.bias.map(|d| place(2, d, 1)),
            output: place(3, spec.output_dtype(), rows),
        }
    }

    /// The contiguous layout with the output over the input.
    pub fn in_place(spec: &NormSpec, rows: u64) -> Self {
        let layout = Self::contiguous(spec, rows);
        Self { output: layout.input, ..layout }
    }

    /// Whether the output lies over the input.
    pub fn is_in_place(&self) -> bool {
        self.input == self.output
    }

    /// The operands that the spec has, the output last.
    pub(crate) fn operands(&self, spec: &NormSpec) -> Vec<Operand> {
        let row = |name, dtype, place| Operand { name, dtype, place, by_row: true };
        let channel = |name, dtype: Option<DType>, place: Option<Placement>| {
            Some(Operand { name, dtype: dtype?, place: place?, by_row: false })
        };
        [
            Some(row("input", spec.input, self.input)),
            channel("weight", spec.weight, self.weight),
            channel("bias", spec.bias, self.bias),
            Some(row("output", spec.output_dtype(), self.output)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Checks that every operand lies within its buffer, and that no output lies over an input but in place.
    ///
    /// # Errors
    /// [`Error::Buffer`], [`Error::Shape`] or [`Error::Aliasing`], naming the operand.
    pub fn validate(&self, spec: &NormSpec, rows: u64) -> Result<()> {
        presence("weight", spec.weight.is_some(), self.weight.is_some())?;
        presence("bias", spec.bias.is_some(), self.bias.is_some())?;
        let operands = self.operands(spec);
        for operand in &operands {
            operand.validate(spec.hidden, rows)?;
        }
        let Some((output, inputs)) = operands.split_last() else { return Ok(()) };
        if self.is_in_place() && spec.input != spec.output_dtype() {
            return Err(Error::Aliasing(Detail::new(
                "output",
                format!("{}, to lie over the input", spec.input),
                spec.output_dtype().name(),
                "give the output a buffer of its own",
            )));
        }
        for input in inputs {
            if (self.is_in_place() && input.by_row) || input.place.buffer != output.place.buffer {
                continue;
            }
            if input.overlaps(output, spec.hidden, rows) {
                let span = |o: &Operand| format!("bytes {}..{}", o.place.offset, o.end(spec.hidden, rows).unwrap_or(u64::MAX));
                return Err(Error::Aliasing(Detail::new(
                    input.name,
                    format!("no overlap with the output at {}", span(output)),
                    span(input),
                    "use the in-place form, or move one of them",
                )));
            }
        }
        Ok(())
    }
}

fn presence(argument: &str, wanted: bool, given: bool) -> Result<()> {
    if wanted == given {
        return Ok(());
    }
    let (expected, actual) = if wanted { ("a buffer", "none") } else { ("none", "a buffer") };
    Err(Error::Buffer(Detail::new(
        argument,
        format!("{expected}, as the norm says"),
        actual,
        format!("make the {argument} of norm and operands agree"),
    )))
}

/// One operand with its dtype.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operand {
    pub name: &'static str,
    pub dtype: DType,
    pub place: Placement,
    /// Whether it has a row for every row of the input, rather than one value a channel.
    pub by_row: bool,
}

impl Operand {
    /// Bytes from the start of a row to the start of the next.
    pub fn stride(&self) -> u64 {
        if self.by_row { self.place.row_stride * self.dtype.size() } else { 0 }
    }

    /// First byte behind the operand, `None` beyond 64 bits.
    pub fn end(&self, hidden: u64, rows: u64) -> Option<u64> {
        let rows = if self.by_row { rows } else { 1 };
        let last_row = rows.saturating_sub(1).checked_mul(self.place.row_stride)?;
        let elements = last_row.checked_add(hidden)?;
        elements.checked_mul(self.dtype.size())?.checked_add(self.place.offset)
    }

    fn validate(&self, hidden: u64, rows: u64) -> Result<()> {
        let Operand { name, dtype, place, .. } = *self;
        if place.offset % dtype.size() != 0 {
            return Err(Error::Buffer(Detail::new(
                format!("{name} offset"),
                format!("a multiple of {} bytes, the size of {dtype}", dtype.size()),
                place.offset.to_string(),
                "align the tensor to its elements",
            )));
        }
        if self.by_row && place.row_stride < hidden {
            return Err(Error::Shape(Detail::new(
                format!("{name} row stride"),
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
                name,
                format!("a buffer of at least {end} bytes"),
                format!("{} bytes", place.size),
                "make it larger; sizes are rounded up to 4 bytes",
            ))),
            None => Err(Error::Shape(Detail::new(
                name,
                "fewer than 2^64 bytes",
                format!("{rows} rows of stride {}", place.row_stride),
                "check the shape",
            ))),
        }
    }

    /// Whether an element of one lies over an element of the other.
    fn overlaps(&self, other: &Operand, hidden: u64, rows: u64) -> bool {
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
        let from_self = (b + stride - a) % stride;
        from_self < hidden * self.dtype.size() || stride - from_self < hidden * other.dtype.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(buffer: u32, offset: u64, row_stride: u64) -> Placement {
        Placement { buffer, size: 4096, offset, row_stride }
    }

    #[test]
    fn h2_overlap_is_refused_and_neighbours_are_not() {
        let spec = NormSpec::torch(8, 1e-6).without_weight();
        let layout = |input, output| Layout { input, output, weight: None, bias: None };
        let fine =
            [(at(0, 0, 8), at(0, 64, 8)), (at(0, 0, 16), at(0, 32, 16)), (at(0, 0, 8), at(1, 0, 8)), (at(0, 4, 8), at(0, 4, 8))];
        for (input, output) in fine {
            layout(input, output).validate(&spec, 2).unwrap();
        }
        for (input, output) in [(at(0, 0, 8), at(0, 60, 8)), (at(0, 0, 16), at(0, 28, 16)), (at(0, 0, 8), at(0, 32, 8))] {
            assert!(matches!(layout(input, output).validate(&spec, 2), Err(Error::Aliasing(_))), "{input:?} {output:?}");
        }
    }

    #[test]
    fn g1_and_k6_strides_and_sizes_are_checked() {
        let spec = NormSpec::torch(5, 1e-6).without_weight().dtype(DType::F16);
        let with = |size, offset, row_stride| {
            let place = Placement { buffer: 0, size, offset, row_stride };
            Layout { input: place, output: place, weight: None, bias: None }.validate(&spec, 3)
        };
        with(32, 0, 5).unwrap();
        assert!(matches!(with(30, 0, 5), Err(Error::Buffer(_))), "15 elements of 2 bytes need 32 bytes of words");
        assert!(matches!(with(64, 1, 5), Err(Error::Buffer(_))));
        assert!(matches!(with(64, 0, 4), Err(Error::Shape(_))));
        assert!(matches!(with(64, 0, u64::MAX / 2), Err(Error::Shape(_))));
    }
}
