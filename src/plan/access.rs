//! How operands are read and written.

use std::str::FromStr;

use super::caps::Caps;
use super::layout::Layout;
use super::operand::Operand;
use crate::dtype::DType;
use crate::error::{Detail, Error, Result};
use crate::slot::Slot;
use crate::spec::NormSpec;

/// Bytes of the widest access.
pub(super) const WIDE: u64 = 16;

/// Bytes of a 64-bit word.
pub(super) const DOUBLE: u64 = 8;

/// How an operand is read or written. The bits of the result do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Access {
    /// Half-words of any parity, found by shifting.
    Element,
    /// 32-bit words.
    Word,
    /// 64-bit words, in which elements of any parity are found by shifting: the bound length is a multiple of 8. Where the device
    /// takes accesses apart, see [`Caps::long_words`]: an octet then has 3 pieces rather than 4 or 5, and 5 rather than 8 in f32. An
    /// output is written so where rows that share such words are one invocation's, see [`SharedWords::InTurns`](super::SharedWords).
    Shifted,
    /// 64-bit words: row start, row stride and bound length are multiples of 8. On the same devices.
    Double,
    /// 16 bytes at a time: row start, row stride and bound length are multiples of 16.
    Wide,
}

impl Access {
    /// All of them.
    pub const ALL: [Access; 5] = [Access::Element, Access::Word, Access::Shifted, Access::Double, Access::Wide];

    /// The name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Access::Element => "element",
            Access::Word => "word",
            Access::Shifted => "shifted",
            Access::Double => "double",
            Access::Wide => "wide",
        }
    }
}

/// The name in lower case.
impl FromStr for Access {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        Access::ALL.into_iter().find(|access| access.name() == name).ok_or_else(|| {
            let names = Access::ALL.map(Access::name).join(", ");
            Error::Plan(Detail::new("access", format!("one of {names}"), format!("{name:?}"), "choose one of these"))
        })
    }
}

/// How each operand is accessed. An absent operand has an entry without a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AccessMap([Access; Slot::COUNT]);

impl AccessMap {
    /// The widest access that device and layout allow, and no wider than `widest`. With `in_turns`, rows that share 64-bit words of the
    /// output are one invocation's.
    pub(super) fn new(spec: &NormSpec, caps: &Caps, layout: &Layout, rows: u64, widest: Option<Access>, in_turns: bool) -> Self {
        let operands = layout.operands(spec);
        let widest = widest.unwrap_or(Access::Wide);
        let mut map = Self([Access::Word; Slot::COUNT]);
        for operand in &operands {
            map.0[operand.slot as usize] = natural(operand, spec, caps, rows, widest);
        }
        // Whoever writes a part of a 64-bit word must be the only one to write the word.
        let written = |buffer| operands.iter().filter(move |o| o.place.buffer == buffer && o.slot.is_written());
        for operand in operands.iter().filter(|o| o.slot.is_written()) {
            let may = operand.slot == Slot::Output && in_turns && written(operand.place.buffer).count() == 1;
            if map.get(operand.slot) == Access::Shifted && !may {
                map.0[operand.slot as usize] = narrow(operand, spec, rows, widest);
            }
        }
        map.by_words_where_shared(&operands, spec, rows, widest);
        if map.get(Slot::Output) == Access::Element && spec.backward.is_none() {
            // Odd rows are written from their first whole word, and so every operand is read from an odd element.
            for operand in &operands {
                let shifted = caps.long_words && map.get(operand.slot) >= Access::Shifted && !operand.slot.is_written();
                map.0[operand.slot as usize] = if shifted { Access::Shifted } else { narrowest(operand.dtype) };
            }
            map.by_words_where_shared(&operands, spec, rows, widest);
        }
        map
    }

    /// Operands in the buffer of one that is written may lie in one binding, of which one has to be 64-bit words for all or for none.
    fn by_words_where_shared(&mut self, operands: &[Operand], spec: &NormSpec, rows: u64, widest: Access) {
        let is_odd = self.get(Slot::Output) == Access::Element;
        for buffer in operands.iter().filter(|o| o.slot.is_written()).map(|o| o.place.buffer) {
            let through = || operands.iter().filter(|o| o.place.buffer == buffer);
            if through().any(|o| self.get(o.slot) < Access::Shifted) {
                for operand in through().filter(|o| self.get(o.slot) == Access::Shifted).collect::<Vec<_>>() {
                    self.0[operand.slot as usize] =
                        if is_odd { narrowest(operand.dtype) } else { narrow(operand, spec, rows, widest) };
                }
            }
        }
    }

    /// That of an operand.
    pub fn get(&self, slot: Slot) -> Access {
        self.0[slot as usize]
    }
}

/// Elements of 32 bits are words.
fn narrowest(dtype: DType) -> Access {
    if dtype.is_half() { Access::Element } else { Access::Word }
}

/// Bits that are set in any byte at which a row, or a group of one, begins.
fn starts(operand: &Operand, spec: &NormSpec, rows: u64) -> u64 {
    // A single row never steps to the next; and one without groups not within itself.
    let step = if rows > 1 { operand.stride() } else { 0 };
    let group = if spec.groups > 1 { spec.group_length() * operand.dtype.size() } else { 0 };
    operand.place.offset | step | group
}

/// The widest access by 32-bit words.
fn narrow(operand: &Operand, spec: &NormSpec, rows: u64, widest: Access) -> Access {
    let natural = if starts(operand, spec, rows).is_multiple_of(4) { Access::Word } else { Access::Element };
    natural.min(widest).max(narrowest(operand.dtype))
}

fn natural(operand: &Operand, spec: &NormSpec, caps: &Caps, rows: u64, widest: Access) -> Access {
    let start = starts(operand, spec, rows);
    if operand.slot.is_narrow() || operand.dtype.is_code() {
        // A few words a row, or a few bytes an octet: nothing is won by more.
        return Access::Word;
    }
    let by_doubles = caps.long_words && operand.fits(rows, DOUBLE);
    match () {
        () if widest == Access::Wide && start.is_multiple_of(WIDE) && operand.fits(rows, WIDE) => Access::Wide,
        () if widest >= Access::Double && start.is_multiple_of(DOUBLE) && by_doubles => Access::Double,
        () if widest >= Access::Shifted && by_doubles => Access::Shifted,
        () => narrow(operand, spec, rows, widest),
    }
}
