//! A plan in words.

use std::fmt;

use super::{Access, BLOCK, Plan, SharedWords};
use crate::dtype::DType;
use crate::residual::AddOrder;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = &self.spec;
        let name = |d: Option<DType>| d.map_or("none", DType::name);
        let residual = spec.residual.map_or(String::new(), |residual| match residual.order {
            AddOrder::Before if residual.rounded => format!("residual {} added first, the sum rounded, ", residual.dtype),
            AddOrder::Before => format!("residual {} added first, the sum unrounded, ", residual.dtype),
            AddOrder::After => format!("residual {} added last, ", residual.dtype),
        });
        writeln!(
            f,
            "rms_norm of {} rows of {}: input {}, {residual}weight {}, bias {}, output {}, eps {:e}",
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
            "  rung     {}: workgroups of {} invocations, {} a row, {} at once, {}",
            self.rung.name(),
            self.workgroup_size(),
            self.width,
            count(self.rows_at_once, "row"),
            count(self.rounds, "round")
        )?;
        writeln!(f, "           because {}", self.reason)?;
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

fn count(number: u32, what: &str) -> String {
    if number == 1 { format!("{number} {what}") } else { format!("{number} {what}s") }
}

fn steps(access: Access) -> &'static str {
    match access {
        Access::Element => "an element at a time",
        Access::Word => "a word at a time",
        Access::Wide => "16 bytes at a time",
    }
}
