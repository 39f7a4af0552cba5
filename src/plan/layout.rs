//! Where the operands lie: offsets, strides, shared buffers, in place.

use super::operand::{Operand, Slot};
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
    /// The rows added to the input, or to the result.
    pub residual: Option<Placement>,
    /// The sum with the input; equal to `residual` where it replaces it.
    pub residual_out: Option<Placement>,
    /// The rows written; equal to `input`, or to a `residual` that is added to the result, for the in-place forms.
    pub output: Placement,
}

impl Layout {
    /// Every operand in a buffer of its own, from its first byte, rows one after the other.
    pub fn contiguous(spec: &NormSpec, rows: u64) -> Self {
        let place = |buffer, dtype: DType, rows: u64| Placement {
            buffer,
            // Beyond 64 bits the size is of no use; the plan then says what is too large.
            size: rows
                .saturating_mul(spec.hidden)
                .saturating_mul(dtype.size())
                .max(16)
                .checked_next_multiple_of(16)
                .unwrap_or(u64::MAX),
            offset: 0,
            row_stride: spec.hidden,
        };
        Self {
            input: place(0, spec.input, rows),
            weight: spec.weight.map(|d| place(1, d, 1)),
            bias: spec.bias.map(|d| place(2, d, 1)),
            output: place(3, spec.output_dtype(), rows),
            residual: spec.residual_dtype().map(|dtype| place(4, dtype, rows)),
            residual_out: spec.residual_out_dtype().map(|dtype| place(5, dtype, rows)),
        }
    }

    /// Rows read and rows written, and nothing else: the start of a layout for norms without a weight.
    pub fn of_rows(input: Placement, output: Placement) -> Self {
        Self { input, weight: None, bias: None, residual: None, residual_out: None, output }
    }

    /// The contiguous layout with the output over the input, and a sum with the input over the residual.
    pub fn in_place(spec: &NormSpec, rows: u64) -> Self {
        let layout = Self::contiguous(spec, rows);
        Self { output: layout.input, residual_out: layout.residual_out.and(layout.residual), ..layout }
    }

    /// Whether the output lies over the input.
    pub fn is_in_place(&self) -> bool {
        self.input == self.output
    }

    /// Whether an output lies over an input as one of the in-place forms has it.
    fn replaces(&self, output: Slot, input: Slot, adds_after: bool) -> bool {
        match (output, input) {
            (Slot::Output, Slot::Input) => self.is_in_place(),
            (Slot::ResidualOut, Slot::Residual) => self.residual == self.residual_out,
            (Slot::Output, Slot::Residual) => adds_after && self.residual == Some(self.output),
            _ => false,
        }
    }

    /// The operands that the spec has, the output last.
    pub(super) fn operands(&self, spec: &NormSpec) -> Vec<Operand> {
        let operand = |slot, dtype: Option<DType>, place: Option<Placement>| Some(Operand { slot, dtype: dtype?, place: place? });
        [
            operand(Slot::Input, Some(spec.input), Some(self.input)),
            operand(Slot::Weight, spec.weight, self.weight),
            operand(Slot::Bias, spec.bias, self.bias),
            operand(Slot::Residual, spec.residual_dtype(), self.residual),
            operand(Slot::ResidualOut, spec.residual_out_dtype(), self.residual_out),
            operand(Slot::Output, Some(spec.output_dtype()), Some(self.output)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The same where there is a next row to step to; where there is none, any stride means the dense one.
    pub(super) fn with_strides_that_matter(mut self, spec: &NormSpec, rows: u64) -> Self {
        if rows <= 1 {
            let by_row = [Some(&mut self.input), self.residual.as_mut(), self.residual_out.as_mut(), Some(&mut self.output)];
            by_row.into_iter().flatten().for_each(|place| place.row_stride = spec.hidden);
        }
        self
    }

    /// Checks that every operand lies within its buffer, and that no output lies over an input but in place.
    ///
    /// # Errors
    /// [`Error::Buffer`], [`Error::Shape`] or [`Error::Aliasing`], naming the operand.
    pub fn validate(&self, spec: &NormSpec, rows: u64) -> Result<()> {
        presence("weight", spec.weight.is_some(), self.weight.is_some())?;
        presence("bias", spec.bias.is_some(), self.bias.is_some())?;
        presence("residual", spec.residual.is_some(), self.residual.is_some())?;
        presence("residual_out", spec.residual_out_dtype().is_some(), self.residual_out.is_some())?;
        let operands = self.operands(spec);
        for operand in &operands {
            operand.validate(spec.hidden, rows)?;
        }
        if self.is_in_place() && spec.input != spec.output_dtype() {
            return Err(Error::Aliasing(Detail::new(
                "output",
                format!("{}, to lie over the input", spec.input),
                spec.output_dtype().name(),
                "give the output a buffer of its own",
            )));
        }
        // Every output against every input, and against the outputs after it.
        for (index, output) in operands.iter().enumerate().filter(|(_, o)| o.slot.is_written()) {
            for (other_index, other) in operands.iter().enumerate() {
                let pair_is_due = !other.slot.is_written() || other_index > index;
                if rows == 0 || !pair_is_due || self.replaces(output.slot, other.slot, spec.adds_after()) {
                    continue;
                }
                if other.place.buffer == output.place.buffer && other.overlaps(output, spec.hidden, rows) {
                    return Err(overlap(spec, rows, output, other));
                }
            }
        }
        Ok(())
    }
}

/// The error for an output that lies over another operand.
fn overlap(spec: &NormSpec, rows: u64, output: &Operand, other: &Operand) -> Error {
    let span = |o: &Operand| format!("bytes {}..{}", o.place.offset, o.end(spec.hidden, rows).unwrap_or(u64::MAX));
    let in_place = match (other.slot, output.slot) {
        (Slot::Input, Slot::Output) | (Slot::Residual, Slot::ResidualOut) => true,
        (Slot::Residual, Slot::Output) => spec.adds_after(),
        _ => false,
    };
    Error::Aliasing(Detail::new(
        other.slot.name(),
        format!("no overlap with the {} at {}", output.slot, span(output)),
        span(other),
        if in_place { "use the in-place form, or move one of them" } else { "move one of them" },
    ))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(buffer: u32, offset: u64, row_stride: u64) -> Placement {
        Placement { buffer, size: 4096, offset, row_stride }
    }

    #[test]
    fn h2_overlap_is_refused_and_neighbours_are_not() {
        let spec = NormSpec::torch(8, 1e-6).without_weight();
        let layout = |input, output| Layout::of_rows(input, output);
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
            Layout::of_rows(place, place).validate(&spec, 3)
        };
        with(32, 0, 5).unwrap();
        assert!(matches!(with(30, 0, 5), Err(Error::Buffer(_))), "15 elements of 2 bytes need 32 bytes of words");
        assert!(matches!(with(64, 1, 5), Err(Error::Buffer(_))));
        assert!(matches!(with(64, 0, 4), Err(Error::Shape(_))));
        assert!(matches!(with(64, 0, u64::MAX / 2), Err(Error::Shape(_))));
    }
}
