//! What is bound, and how a tensor beyond the binding limit is cut into chunks of rows.

use super::access::{Access, AccessMap, WIDE};
use super::caps::Caps;
use super::layout::Layout;
use super::operand::Operand;
use super::params::Params;
use crate::error::{Detail, Error, Result};
use crate::slot::Slot;
use crate::spec::NormSpec;

/// Bindings are addressed in elements of 32 bits: no binding spans more bytes than this.
const MOST_BYTES: u64 = (1 << 32) - WIDE;
/// Storage buffers of a kernel: what every WebGPU device has, so that a plan that fits one fits all.
const MOST_STORAGE_BUFFERS: u32 = 8;
/// Dispatches of one norm, each with a bind group of its own, beyond which it is refused.
const MOST_CHUNKS: u64 = 1 << 16;

/// A storage binding of the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Binding {
    /// The operand after which it is named.
    pub name: Slot,
    /// Every operand that is read or written through it.
    pub operands: Vec<Slot>,
    /// The buffer, by the numbers of the [`Layout`].
    pub buffer: u32,
    /// Whether it is bound `read_write`: outputs are, and whatever lies in an output's buffer, for wgpu refuses to bind one
    /// buffer both ways in one dispatch.
    pub writable: bool,
    /// Words of 32 bits in each element of the array that it is: 1 of `u32`, 2 of `u64`, 4 of `vec4<u32>` (of `vec2<u64>` where
    /// [`Caps::long_words`] says so).
    pub words: u64,
}

/// Rows that one dispatch covers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Chunk {
    /// The first of them.
    pub first_row: u64,
    /// How many.
    pub rows: u64,
    /// First byte and bytes of each binding, in the order of [`Plan::bindings`](super::Plan::bindings).
    pub ranges: Vec<(u64, u64)>,
    /// What the kernel finds in its uniform.
    pub params: Params,
}

/// The limits that matter here.
struct Limits {
    binding: u64,
    alignment: u64,
}

impl Limits {
    fn new(caps: &Caps) -> Self {
        Self {
            binding: caps.max_binding.min(MOST_BYTES),
            alignment: u64::from(caps.storage_alignment).max(WIDE).next_power_of_two(),
        }
    }
}

/// What may not be cut.
pub(super) struct Unit {
    /// Rows that stay together: chunks have a multiple of them.
    pub rows: u64,
    /// Such units that a workgroup takes.
    pub groups: u64,
    /// Storage buffers that the kernel needs besides.
    pub reserved: u32,
}

/// Cuts the rows into chunks that the limits allow and places every operand of the rows in a binding. (Those of the sums over all
/// rows: [`bind_channels`].)
pub(super) fn bind(
    spec: &NormSpec,
    caps: &Caps,
    layout: &Layout,
    rows: u64,
    unit: Unit,
    access: &AccessMap,
) -> Result<(Vec<Binding>, Vec<Chunk>)> {
    let mut operands = layout.operands(spec);
    operands.retain(|operand| !operand.slot.is_parameter_gradient());
    let limits = Limits::new(caps);
    let chunk_rows = rows_that_fit(spec, caps, &operands, &limits, &unit)?;
    if rows.div_ceil(chunk_rows) > MOST_CHUNKS {
        return Err(Error::Limit(Detail::new(
            "rows",
            format!("at most {MOST_CHUNKS} chunks of the {chunk_rows} rows that fit a binding"),
            format!("{rows} rows"),
            "run fewer rows at once",
        )));
    }
    let pieces: Vec<(u64, u64)> =
        (0..rows.div_ceil(chunk_rows)).map(|c| (c * chunk_rows, chunk_rows.min(rows - c * chunk_rows))).collect();
    let bindings = bindings(&operands, &pieces, &limits, access);
    let most = caps.max_storage_buffers.min(MOST_STORAGE_BUFFERS).saturating_sub(unit.reserved);
    if bindings.len() > most as usize {
        let names: Vec<_> = bindings.iter().map(|binding| binding.name.name()).collect();
        let remedy = match spec.backward {
            Some(backward) if backward.saved_rstd => {
                "leave saved_rstd out: it is found again; or let a gradient replace what it comes from"
            }
            Some(_) => "let a gradient replace what it comes from in place, or place several operands in one buffer",
            None => "let outputs replace input or residual in place, or leave one out",
        };
        return Err(Error::Limit(Detail::new(
            "operands",
            format!("at most {most} storage buffers"),
            format!("{}: {}", names.len(), names.join(", ")),
            remedy,
        )));
    }
    let chunks = pieces.iter().map(|&piece| chunk(spec, &operands, &bindings, piece, &limits)).collect::<Result<_>>()?;
    Ok((bindings, chunks))
}

/// Places the sums over all rows in bindings of their own.
pub(super) fn bind_channels(spec: &NormSpec, caps: &Caps, layout: &Layout, access: &AccessMap) -> Result<(Vec<Binding>, Chunk)> {
    let mut operands = layout.operands(spec);
    operands.retain(|operand| operand.slot.is_parameter_gradient());
    let limits = Limits::new(caps);
    let bindings = bindings(&operands, &[(0, 1)], &limits, access);
    let chunk = chunk(spec, &operands, &bindings, (0, 1), &limits)?;
    Ok((bindings, chunk))
}

/// The bindings. Operands in a written operand's buffer are bound writable, and where two such ranges would overlap in any
/// chunk, which browsers refuse, one binding covers them.
fn bindings(operands: &[Operand], pieces: &[(u64, u64)], limits: &Limits, access: &AccessMap) -> Vec<Binding> {
    let writable = |o: &Operand| operands.iter().any(|other| other.slot.is_written() && other.place.buffer == o.place.buffer);
    // Which binding each operand is in: that of the last operand it overlaps with, for the output comes last and names it.
    let mut home: Vec<usize> = (0..operands.len()).collect();
    for &piece in pieces {
        let spans: Vec<_> = operands.iter().map(|o| span(o, piece, limits)).collect();
        for i in 0..operands.len() {
            for j in i + 1..operands.len() {
                let meet = spans[i].0 < spans[j].1 && spans[j].0 < spans[i].1;
                if writable(&operands[i]) && operands[i].place.buffer == operands[j].place.buffer && meet {
                    let (from, to) = (home[i].min(home[j]), home[i].max(home[j]));
                    home.iter_mut().filter(|h| **h == from).for_each(|h| *h = to);
                }
            }
        }
    }
    let mut bindings = Vec::new();
    for (index, operand) in operands.iter().enumerate().filter(|&(index, _)| home[index] == index) {
        let through: Vec<Slot> = operands.iter().zip(&home).filter(|&(_, h)| *h == index).map(|(o, _)| o.slot).collect();
        bindings.push(Binding {
            name: operand.slot,
            words: match through.iter().map(|&slot| access.get(slot)).min() {
                Some(Access::Wide) => 4,
                Some(Access::Double | Access::Shifted) => 2,
                _ => 1,
            },
            writable: writable(operand),
            buffer: operand.place.buffer,
            operands: through,
        });
    }
    bindings
}

fn chunk(
    spec: &NormSpec,
    operands: &[Operand],
    bindings: &[Binding],
    (first_row, rows): (u64, u64),
    limits: &Limits,
) -> Result<Chunk> {
    let mut chunk = Chunk { first_row, rows, ranges: Vec::new(), params: Params::new(spec) };
    for binding in bindings {
        let members: Vec<_> = operands.iter().filter(|o| binding.operands.contains(&o.slot)).collect();
        let spans = members.iter().map(|o| span(o, (first_row, rows), limits));
        let (low, high) = spans.fold((u64::MAX, 0), |(low, high), (a, b)| (low.min(a), high.max(b)));
        let size = (high - low).next_multiple_of(4 * binding.words);
        if size > limits.binding {
            let names: Vec<_> = binding.operands.iter().map(|slot| slot.name()).collect();
            return Err(Error::Limit(Detail::new(
                names.join(" and "),
                format!("{} bytes or less from first to last, for they lie in one buffer and share pages", limits.binding),
                format!("{size} bytes"),
                format!("place them {} bytes apart, or in buffers of their own", limits.alignment),
            )));
        }
        for operand in members {
            let first = operand.place.offset + first_row * operand.stride() - low;
            let stride = if operand.slot.is_by_row() { operand.place.row_stride } else { 0 };
            chunk.params.place(operand.slot, first / operand.dtype.size(), stride)?;
        }
        chunk.ranges.push((low, size));
    }
    Ok(chunk)
}

/// First (aligned) byte that a binding of these rows of the operand spans, and the first behind it.
fn span(operand: &Operand, (first_row, rows): (u64, u64), limits: &Limits) -> (u64, u64) {
    let start = operand.place.offset + first_row * operand.stride();
    let rows = if operand.slot.is_by_row() { rows } else { 1 };
    let end = start + rows.saturating_sub(1) * operand.stride() + operand.length * operand.dtype.size();
    (start / limits.alignment * limits.alignment, end.next_multiple_of(4))
}

fn rows_that_fit(spec: &NormSpec, caps: &Caps, operands: &[Operand], limits: &Limits, unit: &Unit) -> Result<u64> {
    let mut fit = 1 << 30;
    for operand in operands {
        let row = operand.length * operand.dtype.size();
        // The start may lie anywhere within the alignment, and the end is rounded up.
        let room =
            limits.binding.checked_sub(limits.alignment + WIDE).and_then(|room| room.checked_sub(row)).ok_or_else(|| {
                Error::Limit(Detail::new(
                    operand.slot.name(),
                    format!("rows that fit one binding of {} bytes", limits.binding),
                    format!("{row} bytes a row"),
                    "open the device with the adapter's limits, or shard the row",
                ))
            })?;
        if operand.slot.is_by_row() {
            fit = fit.min(room / operand.stride().max(1) + 1);
        }
    }
    // Rows that share words and go together may begin up to three rows before the chunk.
    let rows_a_group = unit.rows * unit.groups;
    let groups = u64::from(caps.max_workgroups).saturating_mul(u64::from(caps.max_workgroups));
    let by_grid = groups.min(u64::from(u32::MAX) / rows_a_group) * rows_a_group / spec.groups;
    let fit = fit.min(by_grid.saturating_sub(if rows_a_group > 1 { 3u64.div_ceil(spec.groups) } else { 0 }));
    if fit == 0 {
        return Err(Error::Limit(Detail::new(
            "workgroups",
            format!("enough for a row of {} groups", spec.groups),
            format!("{} on an axis", caps.max_workgroups),
            "pass the limits of a device, or make fewer groups",
        )));
    }
    if spec.backward.is_some() {
        return whole_blocks(fit, unit.rows);
    }
    // A multiple of 8 where there is a choice keeps chunks alike.
    Ok(if fit >= 8 { fit / 8 * 8 } else { fit })
}

/// Chunks of a backward pass have whole blocks.
fn whole_blocks(fit: u64, block: u64) -> Result<u64> {
    if fit >= block {
        return Ok(fit / block * block);
    }
    let expected = format!("bindings that hold the {block} rows of a block");
    Err(Error::Limit(Detail::new("rows", expected, format!("room for {fit}"), "open the device with the adapter's limits")))
}
