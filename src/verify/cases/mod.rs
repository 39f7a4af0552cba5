//! The one case list: what the tests, the program and the web page run on every adapter.
//!
//! Cases that restate a failure seen elsewhere carry its ID, a letter and a number, at the start of their name.

mod backward;
mod borders;
mod family;
mod members;
mod numbers;
mod placement;
mod registers;
mod shapes;
mod split;

use super::case::{Case, Tier};
use crate::dtype::DType;
use crate::preset::Preset;
use crate::spec::NormSpec;

/// Row lengths around every word, vector and power of two, and those of models (case J6).
pub const HIDDEN: [u64; 34] = [
    1, 2, 3, 5, 7, 8, 9, 15, 17, 31, 33, 63, 64, 65, 96, 127, 128, 129, 192, 255, 257, 500, 512, 541, 769, 1000, 1023, 1024,
    1025, 2049, 3584, 4096, 4100, 5120,
];

/// Row lengths that only the full tier adds.
pub const MORE_HIDDEN: [u64; 32] = [
    32, 41, 50, 80, 111, 123, 229, 256, 273, 576, 760, 768, 1128, 1536, 2048, 2050, 2560, 2880, 3000, 3072, 4099, 5125, 6144,
    7168, 8192, 12_288, 14_432, 16_384, 18_432, 32_768, 65_536, 262_144,
];

/// A list in the making.
struct List(Vec<Case>);

impl List {
    // Hundreds of places call this: written out in each of them it would be most of a small program, as one for browsers is.
    #[inline(never)]
    fn push(&mut self, case: Case) {
        self.0.push(case);
    }
}

/// What may stand around a norm, by name: `spec` with each of it.
fn around(spec: NormSpec) -> [(&'static str, NormSpec); 9] {
    let dtype = spec.input;
    [
        ("bias", spec.bias(dtype)),
        ("weight offset", Preset::Gemma.spec(spec.hidden, spec.eps).dtype(dtype)),
        ("no weight", spec.without_weight()),
        ("rstd", spec.rstd()),
        ("residual before", spec.add_residual(DType::F32)),
        ("residual after", spec.then_add_residual(dtype)),
        ("gated input", spec.gate_input(dtype)),
        ("gated output", spec.gate_output(dtype)),
        ("static codes", spec.quantized_by(DType::I8, 0.03)),
    ]
}

/// The whole list of a tier, in a fixed order.
pub fn cases(tier: Tier) -> Vec<Case> {
    let mut list = List(Vec::new());
    shapes::shapes(&mut list);
    shapes::mixes(&mut list);
    shapes::presets(&mut list);
    numbers::regimes(&mut list);
    placement::layouts(&mut list);
    placement::choices(&mut list);
    placement::limits(&mut list);
    placement::real_sizes(&mut list);
    placement::as_on_a_gpu(&mut list);
    placement::batches(&mut list);
    numbers::accuracy(&mut list);
    placement::shared_words(&mut list);
    placement::turns(&mut list);
    numbers::restated(&mut list);
    family::residual_added(&mut list);
    family::residual_added_after(&mut list);
    members::layer_norm(&mut list);
    members::gated(&mut list);
    members::grouped(&mut list);
    members::partial(&mut list);
    members::rstd(&mut list);
    members::codes(&mut list);
    members::shards(&mut list);
    borders::uneven(&mut list);
    borders::beside(&mut list);
    borders::codes(&mut list);
    borders::rescue(&mut list);
    registers::registers(&mut list);
    split::split(&mut list);
    backward::backward(&mut list);
    list.0.retain(|case| case.tier <= tier);
    list.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_the_quick_tier_is_part_of_the_full_one() {
        let (quick, full) = (cases(Tier::Quick), cases(Tier::Full));
        let names: HashSet<_> = full.iter().map(|c| (c.kind, &c.name)).collect();
        assert_eq!(names.len(), full.len());
        assert!(quick.iter().all(|c| names.contains(&(c.kind, &c.name))));
        assert!(quick.len() > 300 && full.len() > 2 * quick.len(), "{} of {}", quick.len(), full.len());
    }
}
