//! The self-test: does this device compute what every other one does?

use super::device::Gpu;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::inputs::Inputs;
use crate::plan::{Caps, DeviceKind, Force, Reduction, Rung, Rungs};
use crate::spec::NormSpec;
use crate::values::Values;
use crate::verify::{self, Outcome};

/// What the self-test of a device found.
///
/// A few rows (short, long, of odd length, huge, tiny, subnormal) go through every rung, and through both ways in which lanes join;
/// each result is held to the error model, and all to the bits of the plainest. A GPU is not asked for [`Rung::Solo`], which is for
/// software drivers, and does not plan it.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct SelfTest {
    /// What each rung got, over all cases.
    pub outcomes: Vec<(Rung, Outcome)>,
    /// Rungs whose bits differ from those of [`Rung::Looped`].
    pub differing: Vec<Rung>,
    /// Whether subgroups gave the right results, with the same bits. `None` where the device has none of a known size.
    pub subgroups: Option<bool>,
}

impl SelfTest {
    pub(super) async fn run(gpu: &Gpu) -> Result<Self> {
        let gpu = gpu.with_caps(Caps { rungs: Rungs::ALL, ..*gpu.caps() });
        let is_gpu = gpu.caps().kind == DeviceKind::Gpu;
        // The plainest first: it is what the others are compared with.
        let rungs: Vec<_> = [Rung::Looped, Rung::Multi, Rung::Registers, Rung::Split]
            .into_iter()
            .chain((!is_gpu).then_some(Rung::Solo))
            .map(|rung| (rung, Outcome::default()))
            .collect();
        let mut found = Self { outcomes: rungs, ..Self::default() };
        for (dtype, hidden) in SHAPES.into_iter().filter(|shape| is_gpu || *shape != LONG) {
            let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype);
            let (x, w) = rows_to_test(&spec);
            let inputs = Inputs::new(&x).weight(&w);
            let norm = gpu.norm(spec)?;
            let mut first: Option<Values> = None;
            for (rung, total) in found.outcomes.iter_mut().filter(|(rung, _)| suits(*rung, dtype, hidden, is_gpu)) {
                let force = Force::default().rung(*rung).reduction(Reduction::Workgroup);
                let output = norm.run_with(&inputs, force).await?.into_output();
                total.merge(&verify::check(&spec, &inputs, output.as_slice())?);
                let first = first.get_or_insert_with(|| output.clone());
                if first.as_slice().bytes() != output.as_slice().bytes() && !found.differing.contains(rung) {
                    found.differing.push(*rung);
                }
            }
            let force = Force::default().rung(Rung::Looped).reduction(Reduction::Subgroup);
            match norm.run_with(&inputs, force).await {
                // The device has no subgroups, or none of a known size.
                Err(Error::Limit(_)) => {}
                joined => {
                    let same = first
                        .is_some_and(|first| joined.is_ok_and(|o| o.output().as_slice().bytes() == first.as_slice().bytes()));
                    found.subgroups = Some(found.subgroups.unwrap_or(true) && same);
                }
            }
        }
        Ok(found)
    }

    /// The caps of a device of which this was found, restricted to what passed.
    ///
    /// # Errors
    /// Those of [`SelfTest::rungs`].
    pub fn restrict(&self, caps: &Caps) -> Result<Caps> {
        Ok(Caps { rungs: self.rungs()?, subgroups: caps.subgroups && self.subgroups == Some(true), ..*caps })
    }

    /// Whether a rung was tried, is within the error model and has the bits of the others.
    pub fn passed(&self, rung: Rung) -> bool {
        !self.differing.contains(&rung) && self.outcomes.iter().any(|(r, outcome)| *r == rung && outcome.passed())
    }

    /// The rungs that may be planned.
    ///
    /// # Errors
    /// [`Error::SelfTest`] where the plainest rung is wrong already.
    pub fn rungs(&self) -> Result<Rungs> {
        if self.passed(Rung::Looped) {
            let passed = |rung| self.passed(rung);
            return Ok(Rungs {
                looped: true,
                multi: passed(Rung::Multi),
                solo: passed(Rung::Solo),
                registers: passed(Rung::Registers),
                split: passed(Rung::Split),
            });
        }
        let wrong = self.outcomes.iter().find(|(rung, _)| *rung == Rung::Looped).and_then(|(_, o)| o.mismatches.first());
        Err(Error::SelfTest {
            message: wrong
                .map_or("no outcome".into(), |m| format!("element {} is {:e} where {:e} is right", m.index, m.got, m.truth)),
        })
    }
}

/// The rows of a GPU that has hundreds of lanes, in more than one piece.
const LONG: (DType, u64) = (DType::BF16, 33_000);
const SHAPES: [(DType, u64); 5] = [(DType::F32, 200), (DType::F16, 513), (DType::BF16, 1000), (DType::F32, 44), LONG];

/// Registers and pieces are for rows of whole words. Of registers, software drivers take long to compile many; and of pieces there must
/// be two.
fn suits(rung: Rung, dtype: DType, hidden: u64, is_gpu: bool) -> bool {
    match rung {
        Rung::Registers => hidden == 44 || is_gpu && hidden == 1000,
        Rung::Split => (dtype, hidden) == LONG || !is_gpu && hidden == 1000,
        Rung::Looped | Rung::Multi | Rung::Solo => true,
    }
}

/// Five rows: two ordinary, one huge, one tiny, one subnormal (as far as the dtype goes), and weights around one.
fn rows_to_test(spec: &NormSpec) -> (Values, Values) {
    let (huge, tiny, subnormal) = if spec.input == DType::F16 { (2e4, 1e-6, 2e-7) } else { (1e38, 1e-25, 1e-39) };
    let wave = |i: u64| 0.3 + (i.wrapping_mul(2_654_435_761) % 1000) as f64 / 700.0;
    let x: Vec<f64> = [1.0, -1.0, huge, tiny, subnormal]
        .into_iter()
        .enumerate()
        .flat_map(|(row, scale)| (0..spec.hidden).map(move |i| scale * wave(i + 1000 * row as u64)))
        .collect();
    let w: Vec<f64> = (0..spec.hidden).map(|i| wave(i + 17)).collect();
    (Values::round_from(spec.input, &x), Values::round_from(spec.input, &w))
}
