//! The plan of a backward pass.

use super::blocks::{self, shares_words};
use super::{AccessMap, Caps, Force, Layout, Order, Plan, Reduction, SharedWords, Tuned};
use crate::error::Result;
use crate::spec::NormSpec;

/// What is planned.
pub(super) struct Pass<'a> {
    pub spec: &'a NormSpec,
    pub caps: &'a Caps,
    pub layout: &'a Layout,
    pub rows: u64,
    pub force: &'a Force,
    pub order: &'a Order,
    pub tuned: Tuned,
}

impl Plan {
    /// Plans a backward pass.
    pub(super) fn backward(pass: &Pass<'_>) -> Result<Self> {
        let Pass { spec, caps, layout, rows, force, order, tuned } = *pass;
        let access = AccessMap::new(spec, caps, layout, rows, force.access, false);
        let shared = blocks::share(pass, &access)?;
        Ok(Self {
            spec: *spec,
            rows,
            rung: shared.rung,
            order: *order,
            width: shared.width as u32,
            rows_at_once: shared.teams as u32,
            rounds: shared.blocks.rows,
            kept: 0,
            is_alone: shared.is_alone,
            fills_subgroups: false,
            pieces: 1,
            piece_blocks: order.blocks() as u32,
            reduction: (!shared.is_alone).then_some(Reduction::Workgroup),
            shared_words: if shares_words(spec, &access) { SharedWords::Everywhere } else { SharedWords::No },
            access,
            blocks: Some(shared.blocks),
            bindings: shared.bindings,
            chunks: shared.chunks,
            caps: *caps,
            force: *force,
            tuned,
            reason: shared.reason,
        })
    }
}
