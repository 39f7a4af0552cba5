//! Rows that are read once: every octet that an invocation has of a row gets a variable of its own, and no loop is left. An array of
//! them would be indexed by a variable, which is what shader compilers give up on (case O2).

use super::text::Text;
use crate::plan::{BLOCK, Plan, shares_channels};

impl Text {
    /// Reads the octets of a row, and sums their squares in the order of `src/plan/order.rs`.
    pub fn plain_sum_kept(&mut self, plan: &Plan) {
        let order = &plan.order;
        let width = u64::from(plan.width);
        let lanes = order.octet_lanes() / width;
        for t in 0..plan.kept {
            self.line(format_args!("var<private> kept_{t}: Octet;"));
        }
        self.line(format_args!("\n// The sum of squares of a row as it is, which is read here and kept."));
        self.line(format_args!("fn plain_sum(slot: u32, invocation: u32, row: Row) -> f32 {{"));
        for t in 0..u64::from(plan.kept) {
            let octet = octet(plan, t);
            let load = match (t + 1) * width <= order.summed_octets() {
                true => format!("value_at(row, ({octet}) * 8u)"),
                false => format!("octet_or_zero(row, {octet})"),
            };
            self.line(format_args!("    kept_{t} = {load};"));
        }
        self.line(format_args!("    var sum: Octet;"));
        for lane in 0..lanes {
            for block in 0..order.blocks() {
                let steps = block * BLOCK..((block + 1) * BLOCK).min(order.steps());
                for (place, step) in steps.enumerate() {
                    let assign = if place == 0 { "=" } else { "+=" };
                    self.line(format_args!("    sum {assign} squares_of(kept_{});", step * lanes + lane));
                }
                self.line(format_args!("    join_block(slot, {}, {block}u, sum);", octet(plan, lane)));
            }
        }
        self.line(format_args!("    return join_lanes(slot, invocation);\n}}\n"));
    }

    /// Writes the octets of a row.
    pub fn write_kept(&mut self, plan: &Plan) {
        self.line(format_args!(
            "// An ordinary row is written from what was kept of it. (Where it is read again: write_again.wgsl.)"
        ));
        self.line(format_args!("fn write_ordinary(row: Row, invocation: u32, lead: u32, units: u32, scale: Scale) {{"));
        for t in 0..plan.order.whole_octets().div_ceil(plan.width.into()) {
            let unit = octet(plan, t);
            let (w, b) = match keeps_channels(plan) {
                true => (format!("kept_weight_{t}"), format!("kept_bias_{t}")),
                false => (format!("weight_at(row, ({unit}) * 8u)"), format!("bias_at(row, ({unit}) * 8u)")),
            };
            self.line(format_args!("    if ({unit} < units) {{"));
            self.line(format_args!("        write_octet(row, ({unit}) * 8u, kept_{t}, {w}, {b}, scale);\n    }}"));
        }
        self.line(format_args!("}}\n"));
    }

    /// Keeps factors and summands from one row to the next, where an invocation has several rows and these share them.
    pub fn keep_channels(&mut self, plan: &Plan) {
        if !keeps_channels(plan) {
            return self
                .line(format_args!("// Factors and summands are loaded for every row.\nfn keep_channels(row: Row) {{\n}}\n"));
        }
        let whole = plan.order.whole_octets();
        for t in 0..whole {
            self.line(format_args!("var<private> kept_weight_{t}: Octet;\nvar<private> kept_bias_{t}: Octet;"));
        }
        self.line(format_args!("\n// Factors and summands, which all rows share.\nfn keep_channels(row: Row) {{"));
        for t in 0..whole {
            self.line(format_args!(
                "    kept_weight_{t} = weight_at(row, {}u);\n    kept_bias_{t} = bias_at(row, {}u);",
                8 * t,
                8 * t
            ));
        }
        self.line(format_args!("}}\n"));
    }
}

/// Octet t of an invocation, as an octet of the row.
fn octet(plan: &Plan, t: u64) -> String {
    match u64::from(plan.width) {
        1 => format!("{t}u"),
        width => format!("{}u + invocation", t * width),
    }
}

fn keeps_channels(plan: &Plan) -> bool {
    plan.kept > 0 && plan.is_alone && plan.rounds > 1 && shares_channels(&plan.spec)
}
