//! How operands are read and written.

use std::str::FromStr;

use super::layout::Layout;
use super::operand::Operand;
use crate::dtype::DType;
use crate::error::{Detail, Error, Result};
use crate::slot::Slot;
use crate::spec::NormSpec;

/// Bytes of the widest access.
pub(super) const WIDE: u64 = 16;

/// How an operand is read or written. The bits of the result do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Access {
    /// Half-words of any parity, found by shifting.
    Element,
    /// 32-bit words.
    Word,
    /// 16 bytes at a time: row start, row stride and bound length are multiples of 16.
    Wide,
}

impl Access {
    /// All of them.
    pub const ALL: [Access; 3] = [Access::Element, Access::Word, Access::Wide];

    /// The name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Access::Element => "element",
            Access::Word => "word",
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
    /// The widest access that the layout allows, and no wider than `widest`.
    pub(super) fn new(spec: &NormSpec, layout: &Layout, rows: u64, widest: Option<Access>) -> Self {
        let mut map = Self([Access::Word; Slot::COUNT]);
        for operand in layout.operands(spec) {
            map.0[operand.slot as usize] =
                natural(&operand, spec, rows).min(widest.unwrap_or(Access::Wide)).max(narrowest(operand.dtype));
        }
        if map.get(Slot::Output) == Access::Element && spec.backward.is_none() {
            // Odd rows are written from their first whole word, and so every operand is read from an odd element.
            for operand in layout.operands(spec) {
                map.0[operand.slot as usize] = narrowest(operand.dtype);
            }
        }
        map
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

fn natural(operand: &Operand, spec: &NormSpec, rows: u64) -> Access {
    // A single row never steps to the next; and one without groups not within itself.
    let step = if rows > 1 { operand.stride() } else { 0 };
    let group = if spec.groups > 1 { spec.group_length() * operand.dtype.size() } else { 0 };
    let start = operand.place.offset | step | group;
    let end = operand.end(rows).and_then(|end| end.checked_next_multiple_of(WIDE));
    if operand.slot.is_narrow() || operand.dtype.is_code() {
        // A few words a row, or a few bytes an octet: nothing is won by more.
        Access::Word
    } else if start.is_multiple_of(WIDE) && end.is_some_and(|end| end <= operand.place.size) {
        Access::Wide
    } else if start.is_multiple_of(4) {
        Access::Word
    } else {
        Access::Element
    }
}
