//! Plans by a record of what was measured.

use super::{Caps, Force, Layout, Plan};
use crate::error::Result;
use crate::spec::NormSpec;
use crate::tuning::Tuning;

/// What of a plan a tuning record decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Tuned {
    /// Its choices, which the plan has as [`Plan::force`].
    pub choice: bool,
    /// The lanes of its order of summation.
    pub lanes: bool,
}

impl Plan {
    /// Plans by a record: with its choice for this norm and about as many rows, where it has one, the caller forces nothing, and
    /// the choice applies to this layout and this device; else as [`Plan::with`] does. The lanes that the record has for rows of
    /// this length hold in any case, so that a row has the same bits in every plan by the record.
    ///
    /// The record is not asked which device it is of: see [`Tuning::check`].
    ///
    /// # Errors
    /// Those of [`Plan::with`].
    pub fn tuned(spec: &NormSpec, caps: &Caps, layout: &Layout, rows: u64, force: Force, tuning: &Tuning) -> Result<Self> {
        let lanes = tuning.lanes(spec.group_length());
        if force == Force::default()
            && let Some(choice) = tuning.choice(spec, rows)
            && let Ok(mut plan) = Self::planned(spec, caps, layout, rows, choice, lanes)
        {
            plan.tuned.choice = true;
            return Ok(plan);
        }
        Self::planned(spec, caps, layout, rows, force, lanes)
    }
}
