//! How a backward pass is shared out: blocks of rows, each found by a team of invocations, and the sums over all rows.
//!
//! A team finds what every row of its block needs, and then takes the rows' channels in strips, all rows of the block one after the
//! other: so a weight is read once a block, and what the block adds to the gradients of weight and bias stays in registers. Where a strip
//! is the whole row, it does both for one row before it goes on to the next. A second dispatch adds up the blocks.
//!
//! Sums over rows have one order: chains of `leaf` rows, then a binary tree over these by their numbers, then a tree over the groups
//! that share a value. It depends on the length of a row alone, so that neither blocks nor chunks, neither the device nor the number of
//! rows that were prepared for change a bit.

use super::backward::Pass;
use super::bind::{self, Binding, Chunk};
use super::share::{Reason, row_memory};
use super::{Access, AccessMap, Caps, DeviceKind, Force, MOST_ITERATIONS, Params, Rung, iterations};
use crate::error::{Detail, Error, Result};
use crate::groups::WeightOf;
use crate::slot::Slot;
use crate::spec::NormSpec;

/// Rows of a block where there is nothing against it: what it leaves in the scratch buffer is then 1 % of what it moves in half
/// types, and half of that in f32.
const USUAL_ROWS: u64 = 64;
/// Rows of a block at most.
const MOST_ROWS: u64 = 256;
/// Blocks beyond which they get longer: one workgroup adds them all up.
const MOST_BLOCKS: u64 = 1024;
/// Blocks that a GPU should find, so that no core stands idle.
const GPU_BLOCKS: u64 = 128;
/// Blocks that a software driver should find.
const SOFTWARE_BLOCKS: u64 = 16;
/// Bytes of scratch at most, however many rows there are.
const MOST_SCRATCH: u64 = 256 << 20;
/// Bytes of scratch beyond which it is [`SCRATCH_SHARE`] of what the pass moves at most: few long rows would be blocks of a row each.
const SPARE_SCRATCH: u64 = 16 << 20;
/// One part in so many.
const SCRATCH_SHARE: u64 = 50;
/// Octet lanes that an invocation alone sums at most: as in the norm.
const ALONE_LANES: u64 = 16;
/// Invocations that a workgroup of a GPU should have.
const GPU_GROUP: u64 = 128;
/// Octets of a strip at most. On lavapipe, 4096 x 4096, strips of 1, 2, 4, 8 and 16 octets took 72, 63, 54, 55 and 53 ms in f32, and 63,
/// 51, 43, 41 and 39 ms in f16: a page that is visited for one access is a miss of every cache.
const SOFTWARE_STRIP: u64 = 4;
/// On a GPU rows of up to 16,384 channels are one strip then, and are read from memory once.
const GPU_STRIP: u64 = 8;
/// Where there is a gate, whose text is long.
const GATED_STRIP: u64 = 4;
/// Lanes of a register below which software drivers spell nothing out: SwiftShader takes a second for what lavapipe compiles in 0.1 s.
const WIDE_REGISTER: u32 = 8;
/// Bytes of workgroup memory for what a row of a batch needs: its scale and its slope.
const TERM_BYTES: u64 = 48;
/// The blocks of a backward pass.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Blocks {
    /// Invocations that find the gradients of a block.
    pub team: u32,
    /// Rows of a block: of one group, where rows have several.
    pub rows: u32,
    /// Rows whose scales and slopes are found together: all of a block; one, where a strip is the whole row.
    pub batch: u32,
    /// Octets of a row that an invocation takes one after the other, before it goes on to the next row.
    pub strip: u32,
    /// Rows that are added in a chain before the tree takes over.
    pub leaf: u32,
    /// Blocks of all rows that were planned for.
    pub count: u64,
    /// The second dispatch, where weight or bias have a gradient.
    pub channels: Option<Channels>,
    #[cfg(norms_alone)]
    pub(crate) absent: crate::absent::Absent,
}

/// The dispatch that adds up what all blocks found for each channel.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Channels {
    /// What is bound, in the order of the binding numbers.
    pub bindings: Vec<Binding>,
    /// First byte and bytes of each, and what the kernel finds in its uniform.
    pub chunk: Chunk,
    /// Workgroups on the two axes of the dispatch: octets of channels, by lines where an axis is too short for them, and for each
    /// line one for every sum.
    pub grid: [u32; 2],
}

/// A backward pass as it is shared out.
pub(super) struct Shared {
    pub blocks: Blocks,
    pub rung: Rung,
    pub reason: Reason,
    pub width: u64,
    pub is_alone: bool,
    /// Teams of a workgroup.
    pub teams: u64,
    pub bindings: Vec<Binding>,
    pub chunks: Vec<Chunk>,
}

/// Rows of a chain: fewer where rows are long, so that a block of one chain stays far below the iterations that an invocation may
/// make (case O11).
pub(super) fn leaf(spec: &NormSpec) -> u64 {
    (65_536 / spec.group_length().next_power_of_two()).clamp(1, 16)
}

/// Sums over rows that a block leaves: for the weight, and for the bias.
pub(crate) fn sums(spec: &NormSpec) -> u64 {
    spec.backward.map_or(0, |backward| u64::from(backward.grad_weight.is_some()) + u64::from(backward.grad_bias.is_some()))
}

/// Octets of a group, a partial one included.
pub(crate) fn group_octets(spec: &NormSpec) -> u64 {
    spec.group_length().div_ceil(8)
}

/// Bytes of scratch for so many blocks: for every block and group an octet of each sum for eight channels.
fn scratch_bytes(spec: &NormSpec, blocks: u64) -> u64 {
    (sums(spec) * spec.groups * group_octets(spec) * 32).saturating_mul(blocks)
}

/// Bytes of a row of everything that has rows.
fn row_bytes(spec: &NormSpec) -> u64 {
    let by_row = Slot::ALL.into_iter().filter(|slot| slot.is_by_row());
    by_row.filter_map(|slot| Some(spec.length_of(slot) * spec.dtype_of(slot)?.size())).sum()
}

impl Blocks {
    /// Bytes of the scratch buffer.
    pub(super) fn scratch_bytes(&self, spec: &NormSpec) -> u64 {
        let bytes = scratch_bytes(spec, self.count);
        // Without rows there are none, and a binding is not empty.
        if self.channels.is_some() { bytes.max(32) } else { 0 }
    }
}

/// Shares out a backward pass.
pub(super) fn share(pass: &Pass<'_>, access: &AccessMap) -> Result<Shared> {
    let Pass { spec, caps, rows, .. } = *pass;
    let workgroup = Workgroup::new(pass)?;
    let block = workgroup.block_rows(pass)?;
    let teams = workgroup.teams_that_fit(pass, block);
    let (bindings, chunks, block) = bind_blocks(pass, access, block, teams)?;
    let channels = match sums(spec) {
        0 => None,
        _ => Some(Channels::new(pass, access, rows.div_ceil(block))?),
    };
    let leaf = leaf(spec) as u32;
    let blocks = Blocks {
        team: workgroup.team as u32,
        rows: block as u32,
        batch: workgroup.batch(spec, block) as u32,
        strip: workgroup.strip as u32,
        leaf,
        count: rows.div_ceil(block),
        channels,
        #[cfg(norms_alone)]
        absent: crate::absent::absent(),
    };
    let most = MOST_SCRATCH.min(caps.max_binding).min(caps.max_buffer);
    if blocks.scratch_bytes(spec) > most {
        let actual = format!("{} bytes for {rows} rows", blocks.scratch_bytes(spec));
        return Err(Error::Limit(Detail::new("rows", format!("sums of blocks that fit {most} bytes"), actual, IN_PARTS)));
    }
    let Workgroup { rung, reason, width, is_alone, .. } = workgroup;
    Ok(Shared { blocks, rung, reason, width, is_alone, teams, bindings, chunks })
}

/// What to do where there are too many rows.
const IN_PARTS: &str = "record fewer rows at once, and let the parts accumulate: NormSpec::accumulate";

/// How a workgroup finds what the rows of its blocks need.
struct Workgroup {
    rung: Rung,
    reason: Reason,
    /// Invocations a row.
    width: u64,
    is_alone: bool,
    /// Invocations a block.
    team: u64,
    /// Teams that it should have.
    teams: u64,
    /// Octets of a strip.
    strip: u64,
}

impl Workgroup {
    fn new(pass: &Pass<'_>) -> Result<Self> {
        let Pass { spec, caps, force, order, .. } = *pass;
        let most = u64::from(caps.max_invocations.max(1));
        let width = 1u64 << most.min(order.octet_lanes()).min(u64::from(force.width.unwrap_or(u32::MAX)).max(1)).ilog2();
        let suits_alone = caps.kind == DeviceKind::Cpu
            && order.octet_lanes() <= ALONE_LANES
            && iterations(spec, order, 1, 1) <= MOST_ITERATIONS / 4;
        let (rung, reason) = rung(caps, force, suits_alone, width)?;
        let is_alone = rung == Rung::Solo;
        let register = (1u64 << caps.subgroup_max.clamp(4, 32).ilog2()).min(1 << most.ilog2());
        let team = if is_alone { register } else { width };
        let wanted = force.workgroup.map_or(GPU_GROUP, u64::from) / team;
        let teams = if rung == Rung::Multi { wanted.max(2).min(most / team).max(1) } else { 1 };
        let most_of_strip = match caps.kind {
            DeviceKind::Cpu if caps.subgroup_max < WIDE_REGISTER => 1,
            DeviceKind::Cpu => SOFTWARE_STRIP,
            DeviceKind::Gpu if spec.gate.is_some() => GATED_STRIP,
            DeviceKind::Gpu => GPU_STRIP,
        };
        let strip = group_octets(spec).div_ceil(team).min(most_of_strip);
        Ok(Self { rung, reason, width: if is_alone { 1 } else { width }, is_alone, team, teams, strip })
    }

    /// Strips of a row.
    fn strips(&self, spec: &NormSpec) -> u64 {
        group_octets(spec).div_ceil(self.team * self.strip)
    }

    /// Rows of a batch: where each invocation has rows of its own, and where a row is several strips, all of the block.
    fn batch(&self, spec: &NormSpec, block: u64) -> u64 {
        if self.is_alone || self.strips(spec) > 1 { block } else { 1 }
    }

    /// Loop iterations of one invocation at most, for blocks of so many rows: what rows need is found in two more sweeps than a norm's
    /// scale, or in four, and then each strip of channels goes through all of them.
    fn steps(&self, pass: &Pass<'_>, block: u64) -> u64 {
        let rows = if self.is_alone { block.div_ceil(self.team) } else { block };
        let found = rows * 2 * iterations(pass.spec, pass.order, self.width, 1);
        found + 3 * block + self.strips(pass.spec) * (1 + block + self.strip * (block + 2))
    }

    /// Rows of a block.
    fn block_rows(&self, pass: &Pass<'_>) -> Result<u64> {
        let Pass { spec, caps, rows, order, .. } = *pass;
        let leaf = leaf(spec);
        let blocks = |block: u64| rows.div_ceil(block).saturating_mul(spec.groups);
        let wanted = if caps.kind == DeviceKind::Cpu { SOFTWARE_BLOCKS } else { GPU_BLOCKS };
        let mut block = USUAL_ROWS.max(leaf);
        while block > leaf && blocks(block) < wanted {
            block /= 2;
        }
        let most_scratch = SPARE_SCRATCH.max(row_bytes(spec).saturating_mul(rows) / SCRATCH_SHARE);
        let is_too_small = |block| blocks(block) > MOST_BLOCKS || scratch_bytes(spec, rows.div_ceil(block)) > most_scratch;
        while block < MOST_ROWS && is_too_small(block) {
            block *= 2;
        }
        while block > leaf
            && (self.steps(pass, block) > MOST_ITERATIONS || self.memory(pass, block) > caps.workgroup_memory.into())
        {
            block /= 2;
        }
        let steps = self.steps(pass, block);
        if steps > MOST_ITERATIONS {
            let expected = format!("rows whose gradients {} invocations find in {MOST_ITERATIONS} steps", self.width);
            let actual = format!("{} elements, {steps} steps", order.hidden);
            return Err(Error::Limit(Detail::new("hidden", expected, actual, "allow more invocations a workgroup")));
        }
        let memory = self.memory(pass, block);
        if memory > caps.workgroup_memory.into() {
            let (expected, actual) = (format!("at least {memory} bytes"), format!("{} bytes", caps.workgroup_memory));
            let remedy = "open the device with the adapter's limits";
            return Err(Error::Limit(Detail::new("workgroup memory", expected, actual, remedy)));
        }
        Ok(block)
    }

    /// Bytes of workgroup memory for one team: what the rows of a batch need, and the lanes of a row's scale and of its slope.
    fn memory(&self, pass: &Pass<'_>, block: u64) -> u64 {
        let lanes = if self.is_alone { 0 } else { 2 * row_memory(pass.spec, pass.order) };
        self.batch(pass.spec, block) * TERM_BYTES + lanes + 64
    }

    fn teams_that_fit(&self, pass: &Pass<'_>, block: u64) -> u64 {
        let fit = u64::from(pass.caps.workgroup_memory) / self.memory(pass, block);
        let teams = self.teams.min(fit.max(1));
        1 << teams.ilog2()
    }
}

/// Binds chunks of whole blocks; shorter blocks, where a binding has room for these only.
fn bind_blocks(pass: &Pass<'_>, access: &AccessMap, block: u64, teams: u64) -> Result<(Vec<Binding>, Vec<Chunk>, u64)> {
    let Pass { spec, caps, layout, rows, .. } = *pass;
    let reserved = u32::from(sums(spec) > 0);
    let bind = |block: u64| bind::bind(spec, caps, layout, rows, bind::Unit { rows: block, groups: teams, reserved }, access);
    let mut block = block;
    let mut bound = bind(block);
    while block > leaf(spec) && matches!(bound, Err(Error::Limit(_))) {
        block /= 2;
        bound = bind(block);
    }
    let (bindings, mut chunks) = bound?;
    for chunk in &mut chunks {
        chunk.params.first_block = (chunk.first_row / block) as u32;
    }
    Ok((bindings, chunks, block))
}

/// Which way the rows of a block are summed.
fn rung(caps: &Caps, force: &Force, suits_alone: bool, width: u64) -> Result<(Rung, Reason)> {
    let allowed = |rung| caps.rungs.contains(rung);
    let Some(rung) = force.rung else {
        return Ok(match () {
            () if suits_alone && allowed(Rung::Solo) => (Rung::Solo, Reason::Register { rows: u64::from(caps.subgroup_max) }),
            () if caps.kind == DeviceKind::Gpu && 2 * width <= GPU_GROUP && allowed(Rung::Multi) => {
                (Rung::Multi, Reason::Short { has: width, should_have: GPU_GROUP, of: "invocations" })
            }
            () => (Rung::Looped, Reason::Enough { rows: 1, has: width, of: "invocations" }),
        });
    };
    let (expected, applies) = match rung {
        _ if !allowed(rung) => ("one that passed this device's self-test", false),
        Rung::Looped | Rung::Multi => ("", true),
        Rung::Solo => ("one for short rows on software drivers", suits_alone),
        Rung::Registers | Rung::Split => ("one that a backward pass has: looped, multi or solo", false),
    };
    if applies {
        return Ok((rung, Reason::Forced));
    }
    Err(Error::Plan(Detail::new("rung", expected, rung.name(), "leave the choice to the plan")))
}

impl Channels {
    /// Invocations of a workgroup.
    pub const WORKGROUP_SIZE: u32 = 32;

    fn new(pass: &Pass<'_>, access: &AccessMap, blocks: u64) -> Result<Self> {
        let Pass { spec, caps, layout, .. } = *pass;
        let (bindings, chunk) = bind::bind_channels(spec, caps, layout, access)?;
        // Weights that there are, and groups that share one at most.
        let (weights, sharing) = match spec.weight_of {
            WeightOf::Row => (spec.groups, 1),
            WeightOf::Group => (1, spec.groups),
            WeightOf::QueryAndKey(query) => (2, query.max(spec.groups - query)),
        };
        let workgroups = weights * group_octets(spec);
        let most = u64::from(caps.max_workgroups.max(1));
        let lines = workgroups.div_ceil(most) * sums(spec);
        if lines > most {
            let actual = format!("{lines} for {} channels", spec.weight_length());
            let expected = format!("{most} workgroups on an axis");
            return Err(Error::Limit(Detail::new("hidden", expected, actual, "open the device with the adapter's limits")));
        }
        // Strands of a group one after the other, and what joins them.
        let steps = sharing.saturating_mul(blocks.div_ceil(Self::WORKGROUP_SIZE.into()).next_power_of_two() + 40);
        if steps > MOST_ITERATIONS {
            let expected = format!("sums of blocks in {MOST_ITERATIONS} steps");
            let actual = format!("{blocks} blocks of each of {sharing} groups that share a weight, {steps} steps");
            return Err(Error::Limit(Detail::new("rows", expected, actual, IN_PARTS)));
        }
        Ok(Self { bindings, chunk, grid: [workgroups.min(most) as u32, lines as u32] })
    }
}

/// Whether an operand of a backward pass is written half a word at a time, beside what others write.
pub(super) fn shares_words(spec: &NormSpec, access: &AccessMap) -> bool {
    let written = Slot::ALL.into_iter().filter(|slot| slot.is_written() && spec.dtype_of(*slot).is_some());
    spec.backward.is_some() && written.into_iter().any(|slot| access.get(slot) == Access::Element)
}

/// What the kernel of a chunk, and that of the channels, find in their uniforms.
pub(super) fn params_of<'a>(chunks: &'a [Chunk], blocks: &'a Option<Blocks>) -> impl Iterator<Item = &'a Params> {
    let channels = blocks.iter().filter_map(|blocks| blocks.channels.as_ref());
    chunks.iter().map(|chunk| &chunk.params).chain(channels.map(|channels| &channels.chunk.params))
}
