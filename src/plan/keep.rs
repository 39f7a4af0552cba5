//! Rows that are read once: what an invocation keeps of a row from the first sweep to the second, each octet in registers of its own.

use super::{Access, AccessMap, Caps, DeviceKind, Order};
use crate::groups::WeightOf;
use crate::slot::Slot;
use crate::spec::NormSpec;

/// Octets that an invocation of a GPU keeps where the plan has the choice: 64 registers. More, and fewer workgroups fit a core.
const GPU_OCTETS: u64 = 8;
/// Accesses of 16 bytes (8, where the device has no 64-bit integers) that a kernel for a software driver may spell out: there is no loop
/// over them, and lavapipe takes about 10 ms to compile each.
const SOFTWARE_ACCESSES: u64 = 96;
/// What a forced choice may ask for beyond that.
const FORCED: u64 = 4;

/// Octets that an invocation keeps where `width` invocations share a row, as far as this norm and device are suited.
pub(super) fn octets(spec: &NormSpec, order: &Order, caps: &Caps, access: &AccessMap, width: u64, forced: bool) -> Option<u64> {
    // A mean takes three sweeps, codes a look at every result, and a shard has one sweep only. Where rows are written from the first
    // whole word of theirs, what is written is shifted against what is read; and where only a part is summed, the last octet of it is
    // cut off.
    let suited = !spec.centered && !spec.writes_scale() && !spec.is_stats() && spec.shards().is_none();
    let aligned = access.get(Slot::Output) != Access::Element && spec.statistics_length() == spec.group_length();
    let octets = order.steps() * order.octet_lanes() / width;
    let (cost, most) = match caps.kind {
        DeviceKind::Gpu => (octets, GPU_OCTETS),
        DeviceKind::Cpu => (octets * accesses(spec, caps), SOFTWARE_ACCESSES),
    };
    (suited && aligned && cost <= most * if forced { FORCED } else { 1 }).then_some(octets)
}

/// Accesses for an octet of every operand.
fn accesses(spec: &NormSpec, caps: &Caps) -> u64 {
    let bytes = |slot: Slot| spec.dtype_of(slot).filter(|_| !slot.is_narrow()).map_or(0, |dtype| 8 * dtype.size());
    let one = if caps.long_words { 16 } else { 8 };
    Slot::ALL.into_iter().map(|slot| bytes(slot).div_ceil(one)).sum()
}

/// Whether all rows have the same factors and summands, so that these can be kept from one row to the next.
pub(crate) fn shares_channels(spec: &NormSpec) -> bool {
    spec.groups == 1 || spec.weight_of == WeightOf::Group
}
