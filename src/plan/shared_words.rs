//! Words of the output that rows share.

use super::access::{Access, DOUBLE};
use super::layout::Layout;
use crate::slot::Slot;
use crate::spec::NormSpec;

/// Whether rows of 16-bit elements share 32-bit words of the output, which only one invocation may write at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SharedWords {
    /// Every word belongs to one row.
    No,
    /// Rows of an odd length lie without a gap: every second boundary is inside a word. Such rows go through one workgroup, in
    /// pairs, and the invocation that knows both writes the word. (Not where a sum is written back: it may lie over what the
    /// second of a pair would read again.)
    InPairs,
    /// Rows of an even length lie without a gap from an odd element (or groups do within a row): boundaries are inside words. No
    /// sharing out puts both sides into one workgroup, so the output is bound as atomics, and each row changes its own half of a
    /// word.
    Everywhere,
    /// Rows begin within 64-bit words of the output. Those that share one are so many that follow each other, and one invocation's,
    /// which writes octet after octet: what of a word is the next one's waits for it. (So rows have to be one invocation's alone.)
    InTurns(u64),
}

impl SharedWords {
    /// Where rows of the output begin within 64-bit words, and those that share one can go together.
    pub(super) fn in_turns(spec: &NormSpec, layout: &Layout, rows: u64) -> Option<Self> {
        let place = layout.get(Slot::Output)?;
        let size = spec.output_dtype().size();
        let row = spec.group_length() * size;
        if rows.saturating_mul(spec.groups) <= 1
            || spec.groups == 1 && place.row_stride.saturating_sub(spec.hidden) * size >= DOUBLE
        {
            return Some(SharedWords::InTurns(1));
        }
        // So many rows are whole words. The first of them has to begin with one, maybe some rows before the tensor.
        let together = DOUBLE >> (row | DOUBLE).trailing_zeros();
        let begins =
            (0..together).any(|before| (place.offset % DOUBLE + before * (DOUBLE - row % DOUBLE)).is_multiple_of(DOUBLE));
        (place.row_stride == spec.hidden && begins).then_some(SharedWords::InTurns(together))
    }

    /// Rows that one workgroup, or one invocation, has to have, one after the other.
    pub(super) fn rows_together(self) -> u64 {
        match self {
            SharedWords::No | SharedWords::Everywhere => 1,
            SharedWords::InPairs => 2,
            SharedWords::InTurns(rows) => rows,
        }
    }

    pub(super) fn new(spec: &NormSpec, layout: &Layout, rows: u64, output: Access) -> Self {
        let Some(place) = layout.get(Slot::Output) else { return SharedWords::No };
        let odd_start = place.offset / 2 % 2 == 1;
        match output {
            Access::Element if spec.groups > 1 => SharedWords::Everywhere,
            Access::Element if rows > 1 && place.row_stride == spec.hidden => match spec.hidden % 2 == 1 {
                // The second of a pair reads the end of the first again, which a sum may have replaced by then.
                true if spec.residual_out_dtype().is_some() => SharedWords::Everywhere,
                true => SharedWords::InPairs,
                false if odd_start => SharedWords::Everywhere,
                false => SharedWords::No,
            },
            Access::Shifted => Self::in_turns(spec, layout, rows).unwrap_or(SharedWords::No),
            _ => SharedWords::No,
        }
    }
}
