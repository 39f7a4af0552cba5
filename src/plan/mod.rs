//! How a norm is computed: a pure function from spec, device, layout and rows to a [`Plan`].
//!
//! Every launch decision lives here. A [`Plan`] is plain data: it prints what was chosen and why, compares equal to another
//! made from the same facts, and holds all that another host needs to run the kernel.

mod access;
mod backward;
mod bind;
mod blocks;
mod caps;
mod explain;
mod force;
mod keep;
mod layout;
mod operand;
mod order;
mod params;
mod rung;
mod share;
mod shared_words;
mod split;
mod tuned;

pub use crate::slot::Slot;
pub use access::{Access, AccessMap};
pub use bind::{Binding, Chunk};
pub use blocks::{Blocks, Channels};
pub(crate) use blocks::{group_octets, sums};
pub use caps::{Caps, DeviceKind, Rungs};
pub use force::{Force, Reduction};
pub(crate) use keep::shares_channels;
pub use layout::{Layout, Placement};
pub(crate) use order::BLOCK;
pub use order::Order;
pub use params::Params;
pub use rung::Rung;
pub use shared_words::SharedWords;
pub use tuned::Tuned;

use access::DOUBLE;

use crate::error::{Detail, Error, Result};
use crate::spec::NormSpec;
use backward::Pass;
use share::{Reason, Row, Shares, row_memory};

/// Base-256 digits in which the number of rows reaches the kernel.
pub const ROW_DIGITS: usize = 4;
/// Values of such a digit.
pub const ROW_DIGIT_VALUES: u64 = 256;

/// Loop iterations of one invocation that a plan may ask for. A driver is known that silently ends every loop after 65,535 in
/// all (case O11).
const MOST_ITERATIONS: u64 = 48_000;
/// How a norm is computed on a device: the kernel's constants, bindings, chunks and grids.
///
/// ```
/// use wgpu_rmsnorm::{Caps, DType, Layout, NormSpec, Plan};
///
/// let spec = NormSpec::llama(4096, 1e-5).dtype(DType::BF16);
/// let plan = Plan::new(&spec, &Caps::webgpu_defaults(), &Layout::contiguous(&spec, 512), 512)?;
/// println!("{plan}");
/// assert_eq!(plan.chunks.len(), 1);
/// // The WGSL text that the plan stands for, complete.
/// assert!(plan.shader().wgsl.contains("fn main"));
/// # Ok::<(), wgpu_rmsnorm::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// What is computed.
    pub spec: NormSpec,
    /// The rows it was made for.
    pub rows: u64,
    /// How rows are shared out.
    pub rung: Rung,
    /// The order of summation.
    pub order: Order,
    /// Invocations that work on one row.
    pub width: u32,
    /// Rows that a workgroup works on at the same time.
    pub rows_at_once: u32,
    /// Times that a workgroup does so, one after the other.
    pub rounds: u32,
    /// Octets of a row that an invocation keeps from the first sweep to the second; 0 where it reads the row twice.
    pub kept: u32,
    /// Whether a row is one invocation's alone, with neither barriers nor workgroup memory. (In a backward pass its sums are; what they
    /// give goes through workgroup memory.)
    pub is_alone: bool,
    /// Whether each workgroup of such rows is one subgroup, so that its invocations can load for each other what all rows share.
    pub fills_subgroups: bool,
    /// Workgroups that share a row: 1 but for [`Rung::Split`].
    pub pieces: u32,
    /// Blocks of a lane that each of them sums.
    pub piece_blocks: u32,
    /// How the lanes of a row join. None where a row is one invocation's alone.
    pub reduction: Option<Reduction>,
    /// Whether rows share 32-bit words of the output.
    pub shared_words: SharedWords,
    /// How each operand is accessed.
    pub access: AccessMap,
    /// The blocks of a backward pass.
    pub blocks: Option<Blocks>,
    /// What is bound, in the order of the binding numbers.
    pub bindings: Vec<Binding>,
    /// The dispatches: one a chunk of rows. None where there are no rows.
    pub chunks: Vec<Chunk>,
    /// The device it was made for.
    pub caps: Caps,
    /// What the caller, or a tuning record, took out of the plan's hands.
    pub force: Force,
    /// What a tuning record decided.
    pub tuned: Tuned,
    /// Why this rung.
    reason: Reason,
}

impl Plan {
    /// Plans a norm of up to `rows` rows.
    ///
    /// # Errors
    /// Those of [`NormSpec::validate`] and [`Layout::validate`]; [`Error::Limit`] where the device cannot do it at all.
    pub fn new(spec: &NormSpec, caps: &Caps, layout: &Layout, rows: u64) -> Result<Self> {
        Self::with(spec, caps, layout, rows, Force::default())
    }

    /// Plans with some choices forced.
    ///
    /// # Errors
    /// Those of [`Plan::new`], and [`Error::Plan`] where a forced choice does not apply.
    pub fn with(spec: &NormSpec, caps: &Caps, layout: &Layout, rows: u64, force: Force) -> Result<Self> {
        Self::planned(spec, caps, layout, rows, force, None)
    }

    /// Plans with some choices forced, and as many lanes where rows of this length can be summed so.
    fn planned(spec: &NormSpec, caps: &Caps, layout: &Layout, rows: u64, force: Force, lanes: Option<u32>) -> Result<Self> {
        spec.validate()?;
        layout.validate(spec, rows)?;
        let own_order = Order::partial(spec.group_length(), spec.statistics_length(), caps);
        let tuned_order = lanes.and_then(|lanes| own_order.with_lanes(lanes));
        let order = tuned_order.unwrap_or(own_order);
        let layout = &layout.with_strides_that_matter(spec, rows);
        if spec.backward.is_some() {
            let tuned = Tuned { choice: false, lanes: tuned_order.is_some() };
            return Self::backward(&Pass { spec, caps, layout, rows, force: &force, order: &order, tuned });
        }

        let width = width(spec, &order, caps, force.width);
        let inner_rows = rows.saturating_mul(spec.groups);
        let arranged = |in_turns: bool| {
            let access = AccessMap::new(spec, caps, layout, rows, force.access, in_turns);
            let shared_words = SharedWords::new(spec, layout, rows, access.get(Slot::Output));
            let row = Row { spec, order: &order, access: &access, shared_words, in_place: layout.writes_what_it_reads() };
            Shares::new(&row, caps, inner_rows, width, &force).map(|shares| (access, shared_words, shares))
        };
        // Words can be shared in turns where each row is one invocation's, which is known when rows have been shared out.
        let in_turns = SharedWords::in_turns(spec, layout, rows).and_then(|_| arranged(true).ok());
        let (access, shared_words, shares) = match in_turns.filter(|(.., shares)| shares.is_alone) {
            Some(arranged) => arranged,
            None => arranged(false)?,
        };
        check_iterations(spec, &order, shares.width, shares.rounds)?;
        if !shares.is_alone {
            check_workgroup_memory(spec, &order, caps, shares.rows_at_once)?;
        }

        let rows_a_group = shares.rows_at_once * shares.rounds;
        let unit = bind::Unit { rows: 1, groups: rows_a_group, reserved: 0 };
        let (bindings, chunks) = bind::bind(spec, caps, layout, rows, unit, &access)?;
        Ok(Self {
            spec: *spec,
            rows,
            rung: shares.rung,
            order,
            width: shares.width as u32,
            rows_at_once: shares.rows_at_once as u32,
            rounds: shares.rounds as u32,
            kept: shares.kept as u32,
            is_alone: shares.is_alone,
            fills_subgroups: shares.fills_subgroups,
            pieces: shares.pieces.count as u32,
            piece_blocks: shares.pieces.blocks as u32,
            reduction: shares.reduction,
            shared_words,
            access,
            blocks: None,
            bindings,
            chunks,
            caps: *caps,
            force,
            tuned: Tuned { choice: false, lanes: tuned_order.is_some() },
            reason: shares.reason,
        })
    }

    /// Invocations of a workgroup.
    pub fn workgroup_size(&self) -> u32 {
        self.blocks.as_ref().map_or(self.width, |blocks| blocks.team) * self.rows_at_once
    }

    /// Rows of a workgroup.
    pub fn rows_per_group(&self) -> u32 {
        self.rows_at_once * self.rounds
    }

    /// Workgroups on the two axes of the dispatch for the first `rows` rows of a chunk. The rectangle may hold a few more than
    /// are needed; the kernel's guard ends those.
    pub fn grid(&self, chunk: &Chunk, rows: u64) -> [u32; 2] {
        let rows = match &self.blocks {
            // A team takes the rows of a block that belong to one group.
            Some(blocks) => rows.min(chunk.rows).next_multiple_of(blocks.rows.into()) * self.spec.groups,
            None => self.inner_rows(rows.min(chunk.rows)) + self.rows_before(chunk),
        };
        let groups = rows.div_ceil(u64::from(self.rows_per_group())) * u64::from(self.pieces);
        fold(groups, u64::from(self.caps.max_workgroups))
    }

    /// Rows before a chunk that its grid counts too: where rows that share words go together, and the first of them begin there.
    pub fn rows_before(&self, chunk: &Chunk) -> u64 {
        let start = u64::from(chunk.params.start(Slot::Output));
        match self.shared_words {
            SharedWords::No | SharedWords::Everywhere => 0,
            SharedWords::InPairs => start % 2,
            // As parts/edges_in_turns.wgsl has it.
            SharedWords::InTurns(rows) => {
                let step = self.elements_of_a_double() / rows;
                start / step * (self.order.hidden / step) % rows
            }
        }
    }

    /// Elements of the output in a 64-bit word.
    pub(crate) fn elements_of_a_double(&self) -> u64 {
        DOUBLE / self.spec.output_dtype().size()
    }

    /// Rows as the kernel counts them: each group of each row is one.
    pub fn inner_rows(&self, rows: u64) -> u64 {
        rows * self.spec.groups
    }

    /// A chunk's number of rows as the kernel gets it: base-256 digits, the lowest first.
    pub fn digits_of(rows: u64) -> [u32; ROW_DIGITS] {
        std::array::from_fn(|digit| ((rows >> (8 * digit)) & 255) as u32)
    }

    /// Bytes that the kernel must move for `rows` rows: each operand once.
    pub fn bytes(&self, rows: u64) -> u64 {
        let bytes = |slot: Slot| match self.spec.dtype_of(slot) {
            Some(dtype) if slot.is_by_row() => rows.saturating_mul(self.spec.length_of(slot)).saturating_mul(dtype.size()),
            Some(dtype) if rows > 0 => self.spec.length_of(slot) * dtype.size(),
            _ => 0,
        };
        Slot::ALL.into_iter().map(bytes).fold(0, u64::saturating_add)
    }

    /// Bytes of device memory that a prepared norm holds for itself: the uniform of every chunk, and [`Plan::scratch_bytes`]. Whoever
    /// runs the plan needs [`Caps::held_bytes`] besides, once a device.
    pub fn held_bytes(&self) -> u64 {
        self.params().count() as u64 * self.params_step() + self.scratch_bytes()
    }

    /// Bytes from one chunk's uniform to the next in a buffer that holds them all.
    pub fn params_step(&self) -> u64 {
        (size_of::<Params>() as u64).next_multiple_of(self.caps.uniform_step())
    }

    /// The uniforms: one for each chunk, and one for the dispatch that adds up the blocks of a backward pass.
    pub fn params(&self) -> impl Iterator<Item = &Params> {
        blocks::params_of(&self.chunks, &self.blocks)
    }

    /// The dispatch that adds up the blocks of a backward pass, where weight or bias have a gradient: once, after all chunks.
    pub fn last_dispatch(&self) -> Option<&Channels> {
        self.blocks.as_ref()?.channels.as_ref()
    }

    /// Bytes of the scratch buffer in which the pieces of rows leave their sums, or the blocks of a backward pass; 0 where there are
    /// none.
    pub fn scratch_bytes(&self) -> u64 {
        if let Some(blocks) = &self.blocks {
            return blocks.scratch_bytes(&self.spec);
        }
        let rows = self.chunks.iter().map(|chunk| self.inner_rows(chunk.rows)).max().unwrap_or(0);
        if self.pieces > 1 { rows * split::row_bytes(&self.order, self.pieces.into()) } else { 0 }
    }

    /// The kernel's text and bindings.
    pub fn shader(&self) -> crate::shader::Shader {
        match &self.blocks {
            Some(blocks) => crate::shader::compose_backward(self, blocks),
            None => crate::shader::compose(self),
        }
    }

    /// The kernel that is dispatched after all chunks of a backward pass, once, with the bindings and workgroups of
    /// [`Channels`] and the digits of all rows: it adds up what the blocks found for weight and bias.
    pub fn last_shader(&self) -> Option<crate::shader::Shader> {
        let blocks = self.blocks.as_ref()?;
        Some(crate::shader::compose_channels(self, blocks, blocks.channels.as_ref()?))
    }

    /// The kernel that is dispatched before it, with the same bindings over the same grid, where rows are split: it sums the pieces.
    pub fn first_shader(&self) -> Option<crate::shader::Shader> {
        (self.pieces > 1).then(|| crate::shader::compose_pieces(self))
    }
}

/// A rectangle of at least `groups` workgroups, as square as the limit asks for, with little waste.
fn fold(groups: u64, limit: u64) -> [u32; 2] {
    let y = groups.div_ceil(limit.max(1)).max(1);
    let x = groups.div_ceil(y);
    [x as u32, y as u32]
}

/// Invocations that share a row, where several do: a power of two.
fn width(spec: &NormSpec, order: &Order, caps: &Caps, forced: Option<u32>) -> u64 {
    let most = u64::from(caps.max_invocations.max(1)).min(order.octet_lanes());
    let register = u64::from(caps.subgroup_max.clamp(4, 16)).min(most);
    let widest = match (forced, caps.kind) {
        (Some(forced), _) => most.min(u64::from(forced).max(1)),
        // A second register of invocations sweeps the row once more: 0.7 to 0.85 times as fast at 262144 and 524288 (lavapipe).
        (None, DeviceKind::Cpu) if iterations(spec, order, register, 1) <= MOST_ITERATIONS => register,
        (None, _) => most,
    };
    1 << widest.ilog2()
}

/// Loop iterations of one invocation at most, range rescue included.
fn iterations(spec: &NormSpec, order: &Order, width: u64, rounds: u64) -> u64 {
    let steps = order.octets().max(order.whole_octets()).div_ceil(width);
    let lanes = order.octet_lanes() / width;
    // A mean, and a maximum of the result, each take as much again.
    let sweeps = 1 + u64::from(spec.centered) + u64::from(spec.writes_scale());
    let joined = 2 * spec.shards().unwrap_or(0);
    rounds * (sweeps * (3 * steps + lanes * (6 * order.blocks() + 8) + 16) + joined)
}

/// Case O11: they stay well below 65,535.
fn check_iterations(spec: &NormSpec, order: &Order, width: u64, rounds: u64) -> Result<()> {
    let iterations = iterations(spec, order, width, rounds);
    if iterations <= MOST_ITERATIONS {
        return Ok(());
    }
    Err(Error::Limit(Detail::new(
        "hidden",
        format!("rows that {width} invocations read in {MOST_ITERATIONS} steps"),
        format!("{} elements, {iterations} steps", order.hidden),
        "allow more invocations a workgroup, or shard the row",
    )))
}

fn check_workgroup_memory(spec: &NormSpec, order: &Order, caps: &Caps, rows_at_once: u64) -> Result<()> {
    let bytes = rows_at_once * row_memory(spec, order) + 64;
    if bytes <= u64::from(caps.workgroup_memory) {
        return Ok(());
    }
    Err(Error::Limit(Detail::new(
        "workgroup memory",
        format!("at least {bytes} bytes"),
        format!("{} bytes", caps.workgroup_memory),
        "open the device with the adapter's limits",
    )))
}
