//! A plan in words.

use std::fmt;

use super::{Access, BLOCK, DeviceKind, GPU_GROUP, Plan, Rung, SharedWords, WORTH_A_GROUP};
use crate::dtype::DType;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = &self.spec;
        let name = |d: Option<DType>| d.map_or("none", DType::name);
        writeln!(
            f,
            "rms_norm of {} rows of {}: input {}, weight {}, bias {}, output {}, eps {:e}",
            self.rows,
            spec.hidden,
            spec.input,
            name(spec.weight),
            name(spec.bias),
            spec.output_dtype(),
            spec.eps
        )?;
        writeln!(
            f,
            "  rung     {}: workgroups of {} invocations, {} a row, {} rows at once, {} rounds",
            self.rung.name(),
            self.workgroup_size(),
            self.width,
            self.rows_at_once,
            self.rounds
        )?;
        writeln!(f, "           because {}", self.reason())?;
        match self.shared_words {
            SharedWords::No => {}
            SharedWords::InPairs => writeln!(f, "           rows share 32-bit words of the output, and go in pairs")?,
            SharedWords::Everywhere => {
                writeln!(f, "           rows share 32-bit words of the output, which is bound as atomics")?
            }
        }
        writeln!(
            f,
            "  order    {} lanes of {} steps, blocks of {BLOCK} terms joined by a tree",
            self.order.lanes,
            self.order.steps(),
        )?;
        for binding in &self.bindings {
            let access: Vec<_> =
                binding.operands.iter().map(|&slot| format!("{slot}, {}", steps(self.access.get(slot)))).collect();
            writeln!(f, "  binding  {}{}", access.join("; "), if binding.writable { "; read_write" } else { "" })?;
        }
        for chunk in &self.chunks {
            let [x, y] = self.grid(chunk, chunk.rows);
            writeln!(f, "  dispatch {x} x {y}: rows {}..{}", chunk.first_row, chunk.first_row + chunk.rows)?;
        }
        if self.chunks.is_empty() {
            writeln!(f, "  dispatch none: there are no rows")?;
        }
        writeln!(f, "  moves    {} bytes: each operand once", self.bytes(self.rows))?;
        write!(f, "  holds    {} bytes of uniforms", self.held_bytes())
    }
}

fn steps(access: Access) -> &'static str {
    match access {
        Access::Element => "an element at a time",
        Access::Word => "a word at a time",
        Access::Wide => "16 bytes at a time",
    }
}

impl Plan {
    /// Why rows are shared out as they are.
    fn reason(&self) -> String {
        let hidden = self.spec.hidden;
        match self.rung {
            _ if self.force.rung.is_some() => "it was asked for".into(),
            Rung::Multi => match self.caps.kind {
                DeviceKind::Cpu => format!("{hidden} elements are fewer than the {WORTH_A_GROUP} that are worth a workgroup"),
                DeviceKind::Gpu => {
                    format!("a row keeps {} invocations busy, and a workgroup should have {GPU_GROUP}", self.width)
                }
            },
            Rung::Looped if !self.caps.rungs.contains(Rung::Multi) => "the device failed the self-test of the rung multi".into(),
            Rung::Looped if self.rows <= 1 => "there is one row at most".into(),
            Rung::Looped => match self.caps.kind {
                DeviceKind::Cpu if hidden > WORTH_A_GROUP / 2 => format!("a row of {hidden} elements is worth a workgroup"),
                DeviceKind::Cpu => {
                    format!("{} rows are so few that each gets a workgroup, for every core to have some", self.rows)
                }
                DeviceKind::Gpu => format!("a row keeps {} invocations busy", self.width),
            },
        }
    }
}
