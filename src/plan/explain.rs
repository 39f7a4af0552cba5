//! A plan in words.

use std::fmt;

use super::{Plan, SharedWords};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let spec = &self.spec;
        let name = |d: Option<crate::DType>| d.map_or("none", crate::DType::name);
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
        match self.shared_words {
            SharedWords::No => {}
            SharedWords::InPairs => writeln!(f, "           rows share 32-bit words of the output, and go in pairs")?,
            SharedWords::Everywhere => {
                writeln!(f, "           rows share 32-bit words of the output, which is bound as atomics")?
            }
        }
        writeln!(
            f,
            "  order    {} lanes of {} steps, blocks of {} terms joined by a tree",
            self.order.lanes,
            self.order.steps(),
            super::BLOCK
        )?;
        for binding in &self.bindings {
            let access: Vec<_> =
                binding.operands.iter().map(|&slot| format!("{slot} by {}", self.access.get(slot).name())).collect();
            writeln!(
                f,
                "  binding  {}: {}{}",
                binding.name,
                access.join(", "),
                if binding.writable { ", read_write" } else { "" }
            )?;
        }
        for chunk in &self.chunks {
            let [x, y] = self.grid(chunk, chunk.rows);
            writeln!(f, "  dispatch {x} x {y}: rows {}..{}", chunk.first_row, chunk.first_row + chunk.rows)?;
        }
        if self.chunks.is_empty() {
            writeln!(f, "  dispatch none: there are no rows")?;
        }
        write!(f, "  moves    {} bytes", self.bytes(self.rows))
    }
}
