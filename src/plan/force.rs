//! What a caller may take out of the plan's hands.

use std::str::FromStr;

use super::{Access, Rung};
use crate::error::{Detail, Error, Result};

/// How the lanes of a row that several invocations share join. Both ways add in the same order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// In workgroup memory, a barrier for every level down to eight lanes.
    Workgroup,
    /// By subgroups: every subgroup gathers all lanes from workgroup memory after one barrier, and shuffles.
    Subgroup,
}

impl Reduction {
    /// All of them.
    pub const ALL: [Reduction; 2] = [Reduction::Workgroup, Reduction::Subgroup];

    /// The name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Reduction::Workgroup => "workgroup",
            Reduction::Subgroup => "subgroup",
        }
    }
}

/// The name in lower case.
impl FromStr for Reduction {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        Reduction::ALL.into_iter().find(|reduction| reduction.name() == name).ok_or_else(|| {
            let names = Reduction::ALL.map(Reduction::name).join(", ");
            Error::Plan(Detail::new("reduction", names, format!("{name:?}"), "choose one of these"))
        })
    }
}

/// Choices that the caller takes out of the plan's hands, to test and time each of them. The default leaves all to the plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Force {
    /// This rung.
    pub rung: Option<Rung>,
    /// No access wider than this.
    pub access: Option<Access>,
    /// At most this many invocations a row.
    pub width: Option<u32>,
    /// The lanes of a row join in this way.
    pub reduction: Option<Reduction>,
    /// Workgroups of about this many invocations: as many rows at once as that makes, a row at least.
    pub workgroup: Option<u32>,
}

impl Force {
    /// Only this rung.
    pub fn rung(mut self, rung: Rung) -> Self {
        self.rung = Some(rung);
        self
    }
    /// No access wider than this.
    pub fn access(mut self, access: Access) -> Self {
        self.access = Some(access);
        self
    }
    /// At most this many invocations a row.
    pub fn width(mut self, width: u32) -> Self {
        self.width = Some(width);
        self
    }
    /// The lanes of a row join in this way.
    pub fn reduction(mut self, reduction: Reduction) -> Self {
        self.reduction = Some(reduction);
        self
    }
    /// Workgroups of about this many invocations.
    pub fn workgroup(mut self, invocations: u32) -> Self {
        self.workgroup = Some(invocations);
        self
    }
}
