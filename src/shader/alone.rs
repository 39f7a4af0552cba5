//! Rows that are one invocation's alone.

use super::text::Text;
use crate::plan::{Order, Plan, shares_channels};

/// Lanes that are summed side by side, each by a name of its own: what a loop over them would cost, software drivers pay for every
/// block. Four make a cache line of half types, and more take the driver long to compile.
const NAMED_LANES: u64 = 4;

impl Text {
    /// The lanes of a row: pairs of sums in an array, and the tree over them.
    pub fn lanes_alone(&mut self, name: &str, order: &Order) {
        self.lanes_alone_of(name, order, "BLOCKS");
    }

    /// The same where lanes have as many blocks as a constant says.
    pub fn lanes_alone_of(&mut self, name: &str, order: &Order, blocks: &str) {
        self.levels(name, order.blocks());
        self.add_for(part!("lanes_alone_pairs"), &[("NAME_", name), ("BLOCKS", blocks)]);
        self.line(format_args!("// Joins the lanes by halving: v with v + L/2, then L/4, down to 1."));
        self.line(format_args!("fn join_{name}lanes(slot: u32, invocation: u32) -> f32 {{"));
        let mut sums: Vec<_> = (0..order.octet_lanes()).map(|lane| format!("{name}lane_pairs[{lane}]")).collect();
        while sums.len() > 1 {
            let upper = sums.split_off(sums.len() / 2);
            sums = sums.iter().zip(&upper).map(|(low, high)| format!("({low} + {high})")).collect();
        }
        self.line(format_args!("    let pair = {};\n    return pair.x + pair.y;\n}}\n", sums.concat()));
    }

    /// The sum of squares of a row, some lanes at a time.
    pub fn plain_sum_alone(&mut self, order: &Order) {
        let named = NAMED_LANES.min(order.octet_lanes());
        for lane in 0..named {
            self.levels(&format!("lane_{lane}_"), order.blocks());
        }
        self.line(format_args!("// The sum of squares of a row as it is."));
        self.line(format_args!("fn plain_sum(slot: u32, invocation: u32, row: Row) -> f32 {{"));
        self.line(format_args!("    for (var first = 0u; first < rolled(OCTET_LANES); first += {named}u) {{"));
        self.line(format_args!("        for (var block = 0u; block < rolled(BLOCKS); block++) {{"));
        for lane in 0..named {
            self.line(format_args!("            join_lane_{lane}_levels(block, block_of_squares(row, first + {lane}u, block));"));
        }
        self.line(format_args!("        }}"));
        for lane in 0..named {
            self.line(format_args!("        lane_pairs[first + {lane}u] = pair_of(joined_lane_{lane}_levels());"));
        }
        self.line(format_args!("    }}\n    return join_lanes(slot, invocation);\n}}\n"));
    }

    /// An ordinary row is read again and written; factors and summands, which all rows share, each invocation loads for all others of
    /// its subgroup.
    pub fn write_with_broadcasts(&mut self, plan: &Plan) {
        let size = plan.caps.subgroup_max;
        self.line(format_args!("// The invocation's place in its subgroup.\nvar<private> subgroup_lane: u32;\n"));
        self.line(format_args!(
            "// An ordinary row is read again and written. Of {size} octets of factors and summands, which all rows"
        ));
        self.line(format_args!("// share, each invocation of a subgroup loads one for all. Called by all invocations."));
        self.line(format_args!("fn write_ordinary(row: Row, invocation: u32, lead: u32, units: u32, scale: Scale) {{"));
        self.line(format_args!("    for (var step = 0u; step < rolled(OUTPUT_STEPS); step += {size}u) {{"));
        self.line(format_args!("        let i = min(step + subgroup_lane, OUTPUT_STEPS - 1u) * 8u;"));
        self.line(format_args!("        let w = weight_at(row, i);\n        let b = bias_at(row, i);"));
        for lane in 0..size {
            let from =
                |what: &str| format!("Octet(subgroupBroadcast({what}[0], {lane}u), subgroupBroadcast({what}[1], {lane}u))");
            self.line(format_args!("        write_unit(row, step + {lane}u, units, {}, {}, scale);", from("w"), from("b")));
        }
        self.line(format_args!("    }}\n}}\n"));
    }
}

/// Whether the invocations of a workgroup, which are one subgroup and have a row each, load factors and summands for each other.
pub(super) fn broadcasts(plan: &Plan) -> bool {
    let has_channels = plan.spec.weight.is_some() || plan.spec.bias.is_some();
    plan.kept == 0 && plan.fills_subgroups && has_channels && shares_channels(&plan.spec)
}
