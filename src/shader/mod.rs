//! From a [`Plan`] to WGSL text.
//!
//! A shader is the kernel's file behind the constants and the parts that its plan asks for. Parts are whole WGSL functions; a
//! part for one operand or dtype names it by the words `OPERAND`, `BUFFER` and `DTYPE`, which are replaced here and must not
//! survive. What is written by this file itself is what depends on a number: constants, bindings, the levels of a tree.

/// A file of shaders/; in a browser without its comments.
macro_rules! file {
    ($name:expr) => {{
        const TEXT: &str = include_str!(concat!("../../shaders/", $name, ".wgsl"));
        #[cfg(target_arch = "wasm32")]
        const BARE: [u8; crate::shader::bare::length(TEXT)] = crate::shader::bare::bytes(TEXT);
        #[cfg(target_arch = "wasm32")]
        const TEXT_OF_IT: &str = crate::shader::bare::text(&BARE);
        #[cfg(not(target_arch = "wasm32"))]
        const TEXT_OF_IT: &str = TEXT;
        TEXT_OF_IT
    }};
}

/// One part of a shader.
macro_rules! part {
    ($name:literal) => {
        file!(concat!("parts/", $name))
    };
}

mod alone;
mod backward;
#[cfg(any(target_arch = "wasm32", test))]
mod bare;
mod join;
mod kept;
mod members;
mod text;

use crate::plan::{Access, Binding, DeviceKind, Plan, ROW_DIGITS, Reduction, SharedWords};
use crate::slot::Slot;
use crate::spec::NormSpec;
use alone::broadcasts;
pub(crate) use backward::{compose_backward, compose_channels};
use text::Text;

/// The text of a kernel and what it binds, all in group 0.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shader {
    /// A label: operation, rung, hidden and dtypes.
    pub label: String,
    /// The complete WGSL module. Its entry point is [`Shader::ENTRY`].
    pub wgsl: String,
    /// What is bound: the index is the binding's number.
    pub bindings: Vec<Bound>,
}

/// What a binding of a kernel is. A host must know every kind, so that a new one is a breaking change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Bound {
    /// A uniform that holds the chunk's [`Params`](crate::plan::Params).
    Params,
    /// A uniform of 16 bytes with a dynamic offset, whose first word is this digit of the number of rows, as
    /// [`Plan::digits_of`] gives them: a table of 0 to 255 serves all digits of all recordings.
    RowDigit(usize),
    /// The storage binding of this index in [`Plan::bindings`]; in the kernel that adds up the blocks of a backward pass, in
    /// [`Channels::bindings`](crate::plan::Channels::bindings).
    Storage(usize),
    /// A storage buffer of [`Plan::scratch_bytes`], read and written, in which the first kernel of a split norm, or of a backward pass,
    /// leaves its sums for the second.
    Scratch,
}

impl Shader {
    /// The name of the entry point.
    pub const ENTRY: &'static str = "main";
}

fn bound(plan: &Plan) -> Vec<Bound> {
    bound_by(&plan.bindings, plan.pieces > 1)
}

fn bound_by(bindings: &[Binding], has_scratch: bool) -> Vec<Bound> {
    let digits = (0..ROW_DIGITS).map(Bound::RowDigit);
    let storage = (0..bindings.len()).map(Bound::Storage);
    std::iter::once(Bound::Params).chain(digits).chain(storage).chain(has_scratch.then_some(Bound::Scratch)).collect()
}

/// The kernel of a plan.
pub(crate) fn compose(plan: &Plan) -> Shader {
    let spec = &plan.spec;
    let mut text = start(plan);
    text.add(if plan.is_alone { part!("turns_alone") } else { part!("turns_shared") });
    if spec.shards().is_none() {
        text.sums(plan);
    }
    if spec.is_stats() {
        text.add(part!("note_nothing"));
        text.add_for(part!("store_statistic"), &[("BUFFER", &buffer_of(plan, Slot::Output))]);
        text.add(file!("stats"));
    } else {
        text.channels(plan);
        text.result(plan);
        text.output(plan);
        text.scale(plan);
        text.add(part!("write_octet"));
        match plan.kept {
            0 if broadcasts(plan) => {
                text.add(part!("write_unit"));
                text.write_with_broadcasts(plan);
            }
            0 => text.add(part!("write_again")),
            _ => text.write_kept(plan),
        }
        text.keep_channels(plan);
        text.add(part!("write_rows"));
        let uses_subgroups = plan.reduction == Some(Reduction::Subgroup) || broadcasts(plan);
        text.add(if uses_subgroups { part!("entry_subgroup") } else { part!("entry") });
    }
    Shader { label: label(plan), wgsl: text.0, bindings: bound(plan) }
}

/// The kernel that sums the pieces of rows which several workgroups share.
pub(crate) fn compose_pieces(plan: &Plan) -> Shader {
    let mut text = start(plan);
    text.rest_octets(plan);
    text.levels_of_pieces(plan);
    for part in [part!("lane_sums"), part!("note_nothing"), part!("squares"), part!("sum_pieces")] {
        text.add(part);
    }
    Shader { label: format!("{}, pieces", label(plan)), wgsl: text.0, bindings: bound(plan) }
}

/// What every kernel begins with: constants, bindings, and how what is normalised is read.
fn start(plan: &Plan) -> Text {
    let spec = &plan.spec;
    let mut text = Text::default();
    text.constants(plan);
    let has_scratch = plan.pieces > 1 || plan.last_dispatch().is_some();
    text.bindings(plan, &plan.bindings, has_scratch);
    text.add(part!("rows"));
    text.add(part!("opaque"));
    text.add(if plan.caps.kind == DeviceKind::Cpu { part!("loops_rolled") } else { part!("loops_free") });
    text.add(part!("octet"));
    text.row_count();
    text.codecs(spec);
    text.buffers(plan, &plan.bindings);
    for slot in Slot::ALL.into_iter().filter(|slot| !slot.is_written() && spec.dtype_of(*slot).is_some()) {
        text.load(plan, slot);
    }
    text.channel_starts(spec);
    text.value(plan);
    text.add(part!("root"));
    text.add(part!("range"));
    text
}

/// Operation, rung, length of a row, and the dtypes of all operands.
fn label(plan: &Plan) -> String {
    let spec = &plan.spec;
    let dtypes: Vec<_> = Slot::ALL.into_iter().filter_map(|slot| Some(format!("{slot} {}", spec.dtype_of(slot)?))).collect();
    format!("{} {} {}: {}", spec.operation(), plan.rung.name(), spec.hidden, dtypes.join(", "))
}

/// The variable of a binding.
fn words(binding: &Binding) -> String {
    format!("{}_words", binding.name)
}

/// The variable through which an operand is accessed; nothing for an absent one, which loads a constant.
fn buffer_of(plan: &Plan, slot: Slot) -> String {
    plan.bindings.iter().find(|b| b.operands.contains(&slot)).map_or(String::new(), words)
}

/// Whether rows change halves of words that other workgroups, or other invocations, change too.
fn is_atomic(plan: &Plan, binding: &Binding) -> bool {
    let holds = |slot| binding.operands.contains(&slot);
    let by_halves = |slot| plan.access.get(slot) == Access::Element && holds(slot);
    if plan.spec.backward.is_some() {
        return Slot::ALL.into_iter().any(|slot| slot.is_written() && by_halves(slot));
    }
    plan.shared_words == SharedWords::Everywhere && holds(Slot::Output) || by_halves(Slot::ResidualOut)
}

/// The operand that acts on the result, row by row.
fn operand_after(spec: &NormSpec) -> Option<Slot> {
    if spec.adds_after() { Some(Slot::Residual) } else { spec.output_gate().map(|_| Slot::Gate) }
}

/// The operand that acts on the input, row by row.
fn operand_before(spec: &NormSpec) -> Option<Slot> {
    match () {
        () if spec.residual_out_dtype().is_some() => Some(Slot::Residual),
        () if spec.gates_input() => Some(Slot::Gate),
        () => None,
    }
}
