//! Where the operands lie: offsets, strides, shared buffers, in place.

use super::operand::Operand;
use crate::dtype::DType;
use crate::error::{Detail, Error, Result};
use crate::slot::{BySlot, Slot};
use crate::spec::NormSpec;

/// Where one operand lies in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Placement {
    /// Which buffer: operands with the same number share one.
    pub buffer: u32,
    /// The buffer's size in bytes.
    pub size: u64,
    /// First byte of the operand. A multiple of the dtype's size (of 4 for codes of 8 bits), and of nothing else.
    pub offset: u64,
    /// Elements from the start of a row to the start of the next: at least [`NormSpec::length_of`] the operand. Ignored for
    /// weight and bias.
    pub row_stride: u64,
}

/// Where all operands lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Layout(BySlot<Placement>);

impl Layout {
    /// Every operand in a buffer of its own, from its first byte, rows one after the other.
    pub fn contiguous(spec: &NormSpec, rows: u64) -> Self {
        let mut places = BySlot::default();
        for slot in Slot::ALL {
            let row_stride = spec.dense_stride(slot);
            let rows = if slot.is_by_row() { rows } else { 1 };
            let place = |dtype: DType| Placement {
                buffer: slot as u32,
                // Beyond 64 bits the size is of no use; the plan then says what is too large.
                size: rows
                    .saturating_mul(row_stride)
                    .saturating_mul(dtype.size())
                    .max(16)
                    .checked_next_multiple_of(16)
                    .unwrap_or(u64::MAX),
                offset: 0,
                row_stride,
            };
            places.set(slot, spec.dtype_of(slot).map(place));
        }
        Self(places)
    }

    /// Rows read and rows written, and nothing else: the start of a layout for norms without a weight.
    pub fn of_rows(input: Placement, output: Placement) -> Self {
        Self(BySlot::default()).with(Slot::Input, input).with(Slot::Output, output)
    }

    /// The contiguous layout with the output over the input, and a sum with the input over the residual.
    pub fn in_place(spec: &NormSpec, rows: u64) -> Self {
        let mut layout = Self::contiguous(spec, rows);
        for (output, input) in [(Slot::Output, Slot::Input), (Slot::ResidualOut, Slot::Residual)] {
            if let (Some(_), Some(place)) = (layout.get(output), layout.get(input)) {
                layout = layout.with(output, place);
            }
        }
        layout
    }

    /// The same with an operand at this place.
    pub fn with(mut self, slot: Slot, place: Placement) -> Self {
        self.0.set(slot, Some(place));
        self
    }

    /// Where an operand lies, if it is there.
    pub fn get(&self, slot: Slot) -> Option<Placement> {
        self.0.get(slot).copied()
    }

    /// Every place, to be changed.
    pub fn places_mut(&mut self) -> impl Iterator<Item = (Slot, &mut Placement)> {
        self.0.iter_mut()
    }

    /// Every operand that is there, and its place.
    pub fn places(&self) -> impl Iterator<Item = (Slot, Placement)> {
        self.0.iter().map(|(slot, place)| (slot, *place))
    }

    /// Whether an operand lies exactly over another.
    pub(crate) fn is_over(&self, slot: Slot, other: Slot) -> bool {
        self.get(slot).is_some() && self.get(slot) == self.get(other)
    }

    /// Whether an output lies over an input as one of the in-place forms has it.
    fn replaces(&self, output: Slot, input: Slot, spec: &NormSpec) -> bool {
        may_replace(output, input, spec) && self.is_over(output, input)
    }

    /// The operands that the spec has, the output last.
    pub(super) fn operands(&self, spec: &NormSpec) -> Vec<Operand> {
        let operand = |(slot, place)| Some(Operand { slot, dtype: spec.dtype_of(slot)?, length: spec.length_of(slot), place });
        self.places().filter_map(operand).collect()
    }

    /// The same where there is a next row to step to; where there is none, any stride means the dense one.
    pub(super) fn with_strides_that_matter(mut self, spec: &NormSpec, rows: u64) -> Self {
        if rows <= 1 {
            self.0.iter_mut().for_each(|(slot, place)| place.row_stride = spec.dense_stride(slot));
        }
        self
    }

    /// Whether any output lies over what is read.
    pub(super) fn writes_what_it_reads(&self) -> bool {
        let written = || Slot::ALL.into_iter().filter(|slot| slot.is_written());
        Slot::ALL.into_iter().any(|slot| !slot.is_written() && written().any(|output| self.is_over(output, slot)))
    }

    /// Checks that every operand lies within its buffer, and that no output lies over an input but in place.
    ///
    /// # Errors
    /// [`Error::Buffer`], [`Error::Shape`] or [`Error::Aliasing`], naming the operand.
    pub fn validate(&self, spec: &NormSpec, rows: u64) -> Result<()> {
        for slot in Slot::ALL {
            presence(spec, slot, self.get(slot).is_some())?;
        }
        let operands = self.operands(spec);
        for operand in &operands {
            operand.validate(rows)?;
        }
        for output in Slot::ALL.into_iter().filter(|slot| slot.is_written()) {
            for input in Slot::ALL.into_iter().filter(|slot| may_replace(output, *slot, spec) && self.is_over(output, *slot)) {
                dtypes_agree(spec, output, input)?;
            }
        }
        // Every output against every input, and against the outputs after it.
        for (index, output) in operands.iter().enumerate().filter(|(_, o)| o.slot.is_written()) {
            for (other_index, other) in operands.iter().enumerate() {
                let pair_is_due = !other.slot.is_written() || other_index > index;
                if rows == 0 || !pair_is_due || self.replaces(output.slot, other.slot, spec) {
                    continue;
                }
                if other.place.buffer == output.place.buffer && other.overlaps(output, rows) {
                    return Err(overlap(spec, rows, output, other));
                }
            }
        }
        Ok(())
    }
}

impl From<BySlot<Placement>> for Layout {
    fn from(places: BySlot<Placement>) -> Self {
        Self(places)
    }
}

/// Whether there is an in-place form in which this output lies over this input.
fn may_replace(output: Slot, input: Slot, spec: &NormSpec) -> bool {
    match (output, input) {
        (Slot::Output, Slot::Input) | (Slot::ResidualOut, Slot::Residual) => true,
        (Slot::Output, Slot::Residual) => spec.adds_after(),
        (Slot::Output, Slot::GradOutput | Slot::GradResidualOut) | (Slot::GradGate, Slot::Gate) => spec.backward.is_some(),
        _ => false,
    }
}

/// What replaces an operand has its dtype.
fn dtypes_agree(spec: &NormSpec, output: Slot, input: Slot) -> Result<()> {
    let (Some(dtype), Some(replaced)) = (spec.dtype_of(output), spec.dtype_of(input)) else { return Ok(()) };
    if dtype == replaced && !spec.is_stats() {
        return Ok(());
    }
    let actual = if spec.is_stats() { "statistics" } else { dtype.name() };
    let expected = format!("{replaced}, to lie over the {input}");
    Err(Error::Aliasing(Detail::new(output.name(), expected, actual, format!("give the {output} a buffer of its own"))))
}

/// The error for an output that lies over another operand.
fn overlap(spec: &NormSpec, rows: u64, output: &Operand, other: &Operand) -> Error {
    let span = |o: &Operand| format!("bytes {}..{}", o.place.offset, o.end(rows).unwrap_or(u64::MAX));
    let in_place = may_replace(output.slot, other.slot, spec);
    Error::Aliasing(Detail::new(
        other.slot.name(),
        format!("no overlap with the {} at {}", output.slot, span(output)),
        span(other),
        if in_place { "use the in-place form, or move one of them" } else { "move one of them" },
    ))
}

fn presence(spec: &NormSpec, slot: Slot, given: bool) -> Result<()> {
    let wanted = spec.dtype_of(slot).is_some();
    if wanted == given {
        return Ok(());
    }
    let (expected, actual) = if wanted { ("a buffer", "none") } else { ("none", "a buffer") };
    let remedy = match (slot, wanted) {
        (Slot::ResidualOut, true) => {
            "the sum is written back: use Operands::residual or residual_in_place (then_add is for then_add_residual)".to_owned()
        }
        (Slot::ResidualOut, false) if spec.adds_after() => {
            "the sum is the output: use Operands::then_add or onto_residual (residual is for add_residual)".to_owned()
        }
        (_, true) if slot.is_parameter_gradient() => {
            format!("pass it by Operands::{slot}, or find none: NormSpec::without_parameter_gradients")
        }
        (Slot::Bias | Slot::Residual | Slot::ResidualOut, false) if spec.backward.is_some() => {
            format!("leave the {slot} out: a backward pass has no use for it")
        }
        _ => format!("make the {slot} of norm and operands agree"),
    };
    Err(Error::Buffer(Detail::new(slot.name(), format!("{expected}, as the norm says"), actual, remedy)))
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
