//! Few long rows: which pieces several workgroups sum, so that their sums join as the blocks of a lane would have.

use super::share::Row;
use super::{Access, Caps, DeviceKind, Order};
use crate::slot::Slot;
use crate::spec::NormSpec;

/// Workgroups that a row is shared out over at most.
const MOST_PIECES: u64 = 16;
/// Rows so few, and so long, that a GPU's cores would stand idle without it.
const GPU_ROWS: u64 = 8;
const GPU_HIDDEN: u64 = 1 << 15;
/// The same of a software driver, which has few cores, and pays 20 to 40 µs for the second dispatch.
const SOFTWARE_ROWS: u64 = 1;
const SOFTWARE_HIDDEN: u64 = 1 << 14;
const SOFTWARE_PIECES: u64 = 4;
/// Bytes of scratch at most.
const MOST_BYTES: u64 = 16 << 20;
/// Storage buffers of a kernel at most, one of which is the scratch.
const MOST_OPERANDS: usize = 7;

/// The pieces of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pieces {
    pub count: u64,
    /// Blocks of a lane in each, a power of two: a node of the tree that joins all. The last may have fewer.
    pub blocks: u64,
}

impl Pieces {
    /// A row that is not split.
    pub fn one(order: &Order) -> Self {
        Self { count: 1, blocks: order.blocks() }
    }

    /// The pieces of a row, as far as this norm and layout are suited: rows of whole words, of which every workgroup writes a slice
    /// that no other reads.
    pub fn of(row: &Row<'_>, caps: &Caps) -> Option<Self> {
        let Row { spec, order, .. } = *row;
        let suited = !spec.centered && !spec.writes_scale() && !spec.is_stats() && spec.shards().is_none();
        let apart = row.access.get(Slot::Output) != Access::Element && !row.in_place;
        let most = if caps.kind == DeviceKind::Cpu { SOFTWARE_PIECES } else { MOST_PIECES };
        let blocks = order.blocks().div_ceil(most).next_power_of_two();
        let pieces = Self { count: order.blocks().div_ceil(blocks), blocks };
        let leaves_a_buffer = Slot::ALL.into_iter().filter(|slot| spec.dtype_of(*slot).is_some()).count() <= MOST_OPERANDS;
        (suited && apart && pieces.count > 1 && leaves_a_buffer).then_some(pieces)
    }

    /// Whether it pays, and the scratch is small.
    pub fn pay(&self, spec: &NormSpec, caps: &Caps, rows: u64) -> bool {
        let (most, least) = match caps.kind {
            DeviceKind::Cpu => (SOFTWARE_ROWS, SOFTWARE_HIDDEN),
            DeviceKind::Gpu => (GPU_ROWS, GPU_HIDDEN),
        };
        rows <= most && spec.group_length() >= least
    }

    /// Whether the sums of so many rows fit the scratch buffer, and their pieces a grid.
    pub fn fit(&self, order: &Order, caps: &Caps, rows: u64) -> bool {
        let grid = u64::from(caps.max_workgroups).pow(2);
        rows.saturating_mul(row_bytes(order, self.count)) <= MOST_BYTES.min(caps.max_binding)
            && rows.saturating_mul(self.count) <= grid
    }
}

/// Bytes of scratch for a row: an octet of sums for every octet lane of every piece.
pub(super) fn row_bytes(order: &Order, pieces: u64) -> u64 {
    order.octet_lanes() * pieces * 32
}
