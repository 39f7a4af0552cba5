//! How the lanes of a row that several invocations share join, and the pieces of a row that several workgroups share.

use super::text::Text;
use crate::plan::{Plan, Reduction};

impl Text {
    /// In the order of `src/plan/order.rs`, whichever way.
    pub fn join_lanes(&mut self, plan: &Plan) {
        match plan.reduction {
            Some(Reduction::Subgroup) => self.join_by_subgroups(plan),
            _ => self.add(part!("join_in_memory")),
        }
    }

    /// Every subgroup gathers all lanes, so that it does not matter which invocations are in which: lane j of it takes octet lanes j,
    /// j + S, j + 2 S and so on from the top down, and the rest of the tree is shuffled.
    fn join_by_subgroups(&mut self, plan: &Plan) {
        let lanes = plan.order.octet_lanes();
        let size = u64::from(plan.caps.subgroup_max);
        self.line(format_args!("// The invocation's place in its subgroup.\nvar<private> subgroup_lane: u32;\n"));
        self.line(format_args!(
            "// Joins the lanes of a row by halving: v with v + L/2, then L/4, down to 1. Called by all invocations."
        ));
        self.line(format_args!("fn join_lanes(slot: u32, invocation: u32) -> f32 {{\n    workgroupBarrier();"));
        self.line(format_args!("    let lane = slot * SLOT_PAIRS + subgroup_lane;"));
        let mut sums: Vec<_> = (0..lanes / size).map(|i| format!("lane_pairs[lane + {}u]", i * size)).collect();
        while sums.len() > 1 {
            let upper = sums.split_off(sums.len() / 2);
            sums = sums.iter().zip(&upper).map(|(low, high)| format!("({low} + {high})")).collect();
        }
        self.line(format_args!("    var pair = {};", sums.concat()));
        let mut half = size / 2;
        while half > 0 {
            self.line(format_args!("    pair += subgroupShuffleXor(pair, {half}u);"));
            half /= 2;
        }
        self.line(format_args!("    return pair.x + pair.y;\n}}\n"));
    }

    /// The trees of the kernel that sums the pieces of a row: over the blocks of a whole one, and over those of a smaller last one.
    pub fn levels_of_pieces(&mut self, plan: &Plan) {
        let (blocks, piece) = (plan.order.blocks(), u64::from(plan.piece_blocks));
        self.levels("part_", piece);
        self.joined_levels("rest_levels()", "part_", blocks % piece, "");
    }

    /// The tree over the pieces of a row. A smaller last one is below all others.
    pub fn plain_sum_of_pieces(&mut self, plan: &Plan) {
        let (blocks, piece) = (plan.order.blocks(), u64::from(plan.piece_blocks));
        self.join_levels("piece_", blocks / piece);
        let below = if blocks.is_multiple_of(piece) { "" } else { "last" };
        self.joined_levels("piece_levels(last: Octet)", "piece_", blocks / piece, below);
        self.add(part!("plain_sum_pieces"));
    }
}
