//! A plan in words.

use std::fmt;

use super::share::Reason;
use super::{Access, BLOCK, Plan, Reduction, SharedWords};
use crate::groups::WeightOf;
use crate::residual::AddOrder;
use crate::shard::Shard;
use crate::slot::Slot;
use crate::spec::NormSpec;
use crate::tuning::words_of;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = &self.spec;
        writeln!(f, "{} of {} rows of {}: {}, eps {:e}", spec.operation(), self.rows, spec.hidden, operands(spec), spec.eps)?;
        if let Some(blocks) = &self.blocks {
            writeln!(
                f,
                "  blocks   of {} rows, each by {} invocations; sums over rows in chains of {}, and a tree",
                blocks.rows, blocks.team, blocks.leaf
            )?;
            let octets = u64::from(blocks.strip) * u64::from(blocks.team);
            let order = if blocks.batch == blocks.rows { "strip after strip" } else { "row after row" };
            writeln!(f, "           in strips of {} channels, {order}", 8 * octets)?;
        }
        for line in definition(spec) {
            writeln!(f, "  norm     {line}")?;
        }
        writeln!(
            f,
            "  rung     {}: workgroups of {} invocations, {} a row, {} at once, {}",
            self.rung.name(),
            self.workgroup_size(),
            self.width,
            count(self.rows_at_once, if self.blocks.is_some() { "block" } else { "row" }),
            match &self.blocks {
                Some(_) => count(self.rounds, "row") + " a block",
                None => count(self.rounds, "round"),
            }
        )?;
        match self.reason {
            Reason::Forced if self.tuned.choice => writeln!(f, "           because the tuning record says so")?,
            reason => writeln!(f, "           because {reason}")?,
        }
        if self.tuned.choice {
            writeln!(f, "           the tuning record has {}", words_of(&self.force).join(", "))?;
        }
        match self.reduction {
            Some(Reduction::Subgroup) => {
                writeln!(f, "           lanes join by subgroups of {}, after one barrier", self.caps.subgroup_max)?;
            }
            Some(Reduction::Workgroup) => writeln!(f, "           lanes join in workgroup memory")?,
            None => {}
        }
        if self.pieces > 1 {
            writeln!(f, "           {} pieces a row, of {} blocks each", self.pieces, self.piece_blocks)?;
        }
        match self.shared_words {
            SharedWords::No => {}
            SharedWords::InPairs => writeln!(f, "           rows share 32-bit words of the output, and go in pairs")?,
            SharedWords::InTurns(1) => writeln!(f, "           rows begin within 64-bit words of the output, and share none")?,
            SharedWords::InTurns(rows) => {
                writeln!(f, "           rows share 64-bit words of the output, and go by {rows} through one invocation")?
            }
            SharedWords::Everywhere => {
                let what = if self.blocks.is_some() {
                    "gradients share 32-bit words, and are"
                } else {
                    "rows share 32-bit words of the output, which is"
                };
                writeln!(f, "           {what} bound as atomics")?
            }
        }
        writeln!(
            f,
            "  order    {} lanes of {} steps, blocks of {BLOCK} terms joined by a tree{}",
            self.order.lanes,
            self.order.steps(),
            if self.tuned.lanes { ", as the tuning record says" } else { "" },
        )?;
        for binding in &self.bindings {
            let access: Vec<_> =
                binding.operands.iter().map(|&slot| format!("{slot}, {}", self.steps(self.access.get(slot)))).collect();
            writeln!(f, "  binding  {}{}", access.join("; "), if binding.writable { "; read_write" } else { "" })?;
        }
        for chunk in &self.chunks {
            let [x, y] = self.grid(chunk, chunk.rows);
            let twice = if self.pieces > 1 { ", twice" } else { "" };
            writeln!(f, "  dispatch {x} x {y}{twice}: rows {}..{}", chunk.first_row, chunk.first_row + chunk.rows)?;
        }
        if let Some(channels) = self.last_dispatch() {
            let blocks = self.blocks.as_ref().map_or(0, |blocks| blocks.count);
            let [x, y] = channels.grid;
            writeln!(f, "  dispatch {x} x {y}: the sums of {blocks} blocks of rows")?;
        }
        if self.chunks.is_empty() && self.last_dispatch().is_none() {
            writeln!(f, "  dispatch none: there are no rows")?;
        }
        writeln!(f, "  moves    {} bytes: each operand once", self.bytes(self.rows))?;
        let uniforms = self.held_bytes() - self.scratch_bytes();
        writeln!(f, "  holds    {uniforms} bytes of uniforms in {}", bind_groups(self.params().count()))?;
        if self.scratch_bytes() > 0 {
            writeln!(f, "           {} bytes of scratch", self.scratch_bytes())?;
        }
        write!(f, "           its device, once for all norms: {} bytes of row digits", self.caps.held_bytes())
    }
}

/// The operands and their dtypes.
fn operands(spec: &NormSpec) -> String {
    let optional = |slot: Slot| !matches!(slot, Slot::Input | Slot::Weight | Slot::Bias | Slot::Output);
    let named = |slot: Slot| match spec.dtype_of(slot) {
        Some(dtype) => Some(format!("{slot} {dtype}")),
        None if optional(slot) => None,
        None => Some(format!("{slot} none")),
    };
    Slot::ALL.into_iter().filter_map(named).collect::<Vec<_>>().join(", ")
}

/// What is computed beyond the plain norm.
fn definition(spec: &NormSpec) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(spec.residual.map(|residual| match residual.order {
        AddOrder::Before if !spec.unrounded_sum => "the residual is added first, the sum rounded".to_owned(),
        AddOrder::Before => "the residual is added first, the sum unrounded".to_owned(),
        AddOrder::After => "the residual is added last".to_owned(),
    }));
    lines.extend(spec.gate.map(|gate| {
        let what = match gate.order {
            AddOrder::Before => "input".to_owned(),
            AddOrder::After if gate.rounded => format!("result, rounded to {} before", spec.norm_dtype()),
            AddOrder::After => "result".to_owned(),
        };
        format!("{} of the gate multiplies the {what}", spec.activation.name())
    }));
    if spec.groups > 1 {
        let weight = match spec.weight_of {
            WeightOf::Row => "a weight for every channel",
            WeightOf::Group => "one weight for all",
            WeightOf::QueryAndKey(_) => "a weight for query heads and one for key heads",
        };
        lines.push(format!("{} groups of {} channels, {weight}", spec.groups, spec.group_length()));
    }
    lines.extend(spec.statistics_length.map(|length| format!("the statistic is of the first {length} channels")));
    if let Some(Shard::Apply { total, shards }) = spec.shard {
        lines.push(format!("a part of rows of {total} channels in {shards} shards"));
    }
    lines.extend(spec.quantized.map(|quantized| match quantized.scale {
        Some(scale) => format!("{} codes by the scale {scale:e}", quantized.dtype),
        None => format!("{} codes by a scale of each {}", quantized.dtype, if spec.groups > 1 { "group" } else { "row" }),
    }));
    lines
}

fn bind_groups(number: usize) -> String {
    if number == 1 { "1 bind group".into() } else { format!("{number} bind groups") }
}

fn count(number: u32, what: &str) -> String {
    if number == 1 { format!("{number} {what}") } else { format!("{number} {what}s") }
}

impl Plan {
    fn steps(&self, access: Access) -> &'static str {
        match access {
            Access::Element => "an element at a time",
            Access::Word => "a word at a time",
            Access::Shifted => "a 64-bit word at a time, shifted",
            Access::Double => "a 64-bit word at a time",
            Access::Wide if self.caps.long_words => "16 bytes at a time, as two 64-bit words",
            Access::Wide => "16 bytes at a time",
        }
    }
}
