//! The ladder: ways to share rows out over workgroups.

use std::str::FromStr;

use crate::error::{Detail, Error, Result};

/// A way to share rows out over workgroups. All give the same bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rung {
    /// Several rows a workgroup, for short rows.
    Multi,
    /// One workgroup a row (or a pair of rows that share words), which reads it twice, for any length.
    Looped,
    /// One invocation a row, as many rows at a time as a register has lanes: neither barriers nor workgroup memory. For software
    /// drivers.
    Solo,
    /// A row is read once and kept in registers until it is written: one invocation a row on software drivers, several on GPUs, which
    /// share a workgroup with more rows where those are short.
    Registers,
    /// Several workgroups a row, for few long rows: a first dispatch sums pieces of each, the second joins these sums and writes.
    Split,
}

impl Rung {
    /// All of them.
    pub const ALL: [Rung; 5] = [Rung::Multi, Rung::Looped, Rung::Solo, Rung::Registers, Rung::Split];

    /// The rung's name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Rung::Multi => "multi",
            Rung::Looped => "looped",
            Rung::Solo => "solo",
            Rung::Registers => "registers",
            Rung::Split => "split",
        }
    }
}

/// The name in lower case.
impl FromStr for Rung {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        Rung::ALL.into_iter().find(|rung| rung.name() == name).ok_or_else(|| {
            Error::Plan(Detail::new("rung", Rung::ALL.map(Rung::name).join(", "), format!("{name:?}"), "choose one of these"))
        })
    }
}
