//! What a case is.

use super::data::{Regime, Weights};
use crate::plan::{Caps, DeviceKind, Force};
use crate::spec::NormSpec;

/// How much is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tier {
    /// A minute or two on a software driver.
    Quick,
    /// Everything.
    Full,
}

/// Where the operands of a case lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Arrangement {
    /// Elements before the first one of every operand.
    pub offset: u64,
    /// Elements between the end of a row and the start of the next.
    pub gap: u64,
    /// Whether the gap is another one for every operand.
    pub uneven: bool,
    /// Whether all operands lie in one buffer, one behind the other.
    pub arena: bool,
    /// Whether, in an arena, every operand begins at a page of 256 bytes.
    pub paged: bool,
    /// Whether the output replaces the input; in a backward pass, the gradient that comes in.
    pub in_place: bool,
    /// Whether the sum replaces the residual; in a backward pass, the output what comes along the stream, and the gate's gradient the
    /// gate.
    pub residual_in_place: bool,
}

impl Arrangement {
    /// Whether it is more than a buffer for each operand, dense and from its start.
    pub fn is_special(self) -> bool {
        self != Self::default()
    }
}

/// A device that offers less than the one at hand, or is of another kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub struct Lowered {
    /// Bytes that a binding may span.
    pub max_binding: Option<u64>,
    /// Workgroups on one axis.
    pub max_workgroups: Option<u32>,
    /// Invocations of a workgroup.
    pub max_invocations: Option<u32>,
    /// Bytes of workgroup memory.
    pub workgroup_memory: Option<u32>,
    /// Planned as a GPU would be: other lanes, wider workgroups, several rows at once.
    pub as_gpu: bool,
    /// Alignment of bindings, raised.
    pub storage_alignment: Option<u32>,
}

impl Lowered {
    /// Whether any limit is below the device's.
    pub fn is_lower(self) -> bool {
        Self { as_gpu: false, ..self } != Self::default()
    }

    /// These limits laid over those of a device.
    pub fn apply(self, caps: &Caps) -> Caps {
        Caps {
            max_binding: self.max_binding.unwrap_or(caps.max_binding).min(caps.max_binding),
            max_workgroups: self.max_workgroups.unwrap_or(caps.max_workgroups).min(caps.max_workgroups),
            max_invocations: self.max_invocations.unwrap_or(caps.max_invocations).min(caps.max_invocations),
            workgroup_memory: self.workgroup_memory.unwrap_or(caps.workgroup_memory).min(caps.workgroup_memory),
            kind: if self.as_gpu { DeviceKind::Gpu } else { caps.kind },
            storage_alignment: self.storage_alignment.unwrap_or(caps.storage_alignment).max(caps.storage_alignment),
            ..*caps
        }
    }
}

/// Whose bits the result must have, besides lying within the error model. (A NaN has those of any other.)
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Twin {
    /// Nobody's.
    None,
    /// Those of the plain run: a buffer for each operand, no forced choice, no lowered limit. (The kind of device stays: it
    /// has a say in the order of summation.)
    Plain,
    /// Those of the same rows alone, one by one.
    RowsAlone(Vec<u64>),
    /// Its own, every time it is repeated.
    Repeated(u32),
    /// Those of the norm alone, on the sum with the residual as it was written back.
    Unfused,
    /// Those of the same rows, where no more were prepared for.
    NoMore,
    /// Those of the norm that has every operand which this one lacks, with a value that changes nothing.
    Neutral,
}

/// One case: a norm, its data, where it lies, how it is planned, and what it is held to.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Case {
    /// What it is about: cases of one kind are reported together.
    pub kind: &'static str,
    /// A name, unique in the list.
    pub name: String,
    /// From which tier on it runs.
    pub tier: Tier,
    /// The norm.
    pub spec: NormSpec,
    /// The rows.
    pub rows: u64,
    /// What fills the rows.
    pub regime: Regime,
    /// What fills residual, gate and incoming gradients, where it is not what fills the rows.
    pub beside: Option<Regime>,
    /// What fills the weight.
    pub weights: Weights,
    /// Where the operands lie.
    pub arrangement: Arrangement,
    /// Which choices of the plan are forced.
    pub force: Force,
    /// Limits below the device's.
    pub lowered: Lowered,
    /// Rows recorded, where fewer than prepared.
    pub recorded: Option<u64>,
    /// Whose bits the result must have.
    pub twin: Twin,
    /// The largest share of elements that may differ from correct rounding.
    pub most_misrounded: Option<f64>,
}

impl Case {
    #[inline(never)]
    pub(super) fn new(kind: &'static str, name: impl Into<String>, spec: NormSpec, rows: u64) -> Self {
        Self {
            kind,
            name: name.into(),
            tier: Tier::Quick,
            spec,
            rows,
            regime: Regime::Normal(1.0),
            beside: None,
            weights: Weights::Usual,
            arrangement: Arrangement::default(),
            force: Force::default(),
            lowered: Lowered::default(),
            recorded: None,
            twin: Twin::None,
            most_misrounded: None,
        }
    }
    #[inline(never)]
    pub(super) fn full(mut self) -> Self {
        self.tier = Tier::Full;
        self
    }
    #[inline(never)]
    pub(super) fn quick(mut self) -> Self {
        self.tier = Tier::Quick;
        self
    }
    /// Full tier unless `quick`.
    #[inline(never)]
    pub(super) fn quick_if(self, quick: bool) -> Self {
        if quick { self } else { self.full() }
    }
    #[inline(never)]
    pub(super) fn regime(mut self, regime: Regime) -> Self {
        self.regime = regime;
        self
    }
    #[inline(never)]
    pub(super) fn beside(mut self, regime: Regime) -> Self {
        self.beside = Some(regime);
        self
    }
    #[inline(never)]
    pub(super) fn weights(mut self, weights: Weights) -> Self {
        self.weights = weights;
        self
    }
    #[inline(never)]
    pub(super) fn arranged(mut self, arrangement: Arrangement) -> Self {
        self.arrangement = arrangement;
        self.twin = Twin::Plain;
        self
    }
    #[inline(never)]
    pub(super) fn forced(mut self, force: Force) -> Self {
        self.force = force;
        self.twin = Twin::Plain;
        self
    }
    #[inline(never)]
    pub(super) fn lowered(mut self, lowered: Lowered) -> Self {
        self.lowered = lowered;
        self.twin = Twin::Plain;
        self
    }
    #[inline(never)]
    pub(super) fn twin(mut self, twin: Twin) -> Self {
        self.twin = twin;
        self
    }
}
