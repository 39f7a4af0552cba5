//! How operands are accessed and bound, and how a tensor beyond the binding limit is cut into chunks of rows.

use super::caps::Caps;
use super::layout::{Layout, Operand, Placement};
use crate::dtype::DType;
use crate::error::{Detail, Error, Result};
use crate::spec::NormSpec;

/// Bytes of the widest access.
const WIDE: u64 = 16;
/// Bindings are addressed in elements of 32 bits: no binding spans more bytes than this.
const MOST_BYTES: u64 = (1 << 32) - WIDE;

/// Dispatches of one norm, each with a bind group of its own, beyond which it is refused.
const MOST_CHUNKS: u64 = 1 << 16;

/// How an operand is read or written. The bits of the result do not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Access {
    /// Half-words of any parity, found by shifting.
    Element,
    /// 32-bit words.
    Word,
    /// 16 bytes at a time: row start, row stride and bound length are multiples of 16.
    Wide,
}

impl Access {
    /// All of them.
    pub const ALL: [Access; 3] = [Access::Element, Access::Word, Access::Wide];

    /// The name in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Access::Element => "element",
            Access::Word => "word",
            Access::Wide => "wide",
        }
    }
}

/// How each operand is accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct AccessMap {
    /// The rows read.
    pub input: Access,
    /// One value a channel; meaningless without a weight.
    pub weight: Access,
    /// One value a channel; meaningless without a bias.
    pub bias: Access,
    /// The rows written.
    pub output: Access,
}

impl AccessMap {
    /// That of the operand of this name.
    pub(crate) fn of(&self, name: &str) -> Access {
        match name {
            "input" => self.input,
            "weight" => self.weight,
            "bias" => self.bias,
            _ => self.output,
        }
    }
}

/// A storage binding of the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Binding {
    /// The operand after which it is named.
    pub name: &'static str,
    /// Every operand that is read or written through it.
    pub operands: Vec<&'static str>,
    /// The buffer, by the numbers of the [`Layout`].
    pub buffer: u32,
    /// Whether it is bound `read_write`: the output is, and whatever lies in the output's buffer, for wgpu refuses to bind one
    /// buffer both ways in one dispatch.
    pub writable: bool,
    /// Whether it is an array of `vec4<u32>` rather than of `u32`.
    pub wide: bool,
}

/// What the kernel finds in its uniform: starts in elements from the start of the binding, strides in elements.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, bytemuck::Pod, bytemuck::Zeroable)]
pub struct Params {
    /// First element of the input.
    pub input_start: u32,
    /// Elements from one input row to the next.
    pub input_stride: u32,
    /// First element of the output.
    pub output_start: u32,
    /// Elements from one output row to the next.
    pub output_stride: u32,
    /// First element of the weight.
    pub weight_start: u32,
    /// First element of the bias.
    pub bias_start: u32,
    /// Zero, which no compiler knows: see `shaders/parts/unfused.wgsl`.
    pub zero: u32,
    /// Nothing: uniforms are multiples of 16 bytes.
    pub padding: u32,
}

const _: () = assert!(size_of::<Params>() == 32);

/// Rows that one dispatch covers.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Chunk {
    /// The first of them.
    pub first_row: u64,
    /// How many.
    pub rows: u64,
    /// First byte and bytes of each binding, in the order of [`Plan::bindings`](super::Plan::bindings).
    pub ranges: Vec<(u64, u64)>,
    /// Where the operands lie in the bindings.
    pub params: Params,
}

/// Chooses the access of every operand.
pub(super) fn access(spec: &NormSpec, layout: &Layout, rows: u64, widest: Option<Access>) -> AccessMap {
    let widest = widest.unwrap_or(Access::Wide);
    let natural = |dtype: DType, place: Option<Placement>, by_row: bool| {
        let Some(place) = place else { return Access::Word };
        let operand = Operand { name: "", dtype, place, by_row };
        // A single row never steps to the next.
        let step = if rows > 1 { operand.stride() } else { 0 };
        let end = operand.end(spec.hidden, rows).and_then(|e| e.checked_next_multiple_of(WIDE));
        let found = if (place.offset | step) % WIDE == 0 && end.is_some_and(|e| e <= place.size) {
            Access::Wide
        } else if (place.offset | step) % 4 == 0 {
            Access::Word
        } else {
            Access::Element
        };
        let found = found.min(widest);
        // Elements of 32 bits are words.
        if dtype.is_half() { found } else { found.max(Access::Word) }
    };
    let mut map = AccessMap {
        input: natural(spec.input, Some(layout.input), true),
        weight: natural(spec.weight.unwrap_or(DType::F32), layout.weight, false),
        bias: natural(spec.bias.unwrap_or(DType::F32), layout.bias, false),
        output: natural(spec.output_dtype(), Some(layout.output), true),
    };
    if map.output == Access::Element {
        // Odd rows are written from their first whole word, and so every operand is read from an odd element.
        let any = |dtype: Option<DType>| if dtype.is_some_and(DType::is_half) { Access::Element } else { Access::Word };
        map.input = any(Some(spec.input));
        map.weight = any(spec.weight);
        map.bias = any(spec.bias);
    }
    map
}

/// Cuts the rows into chunks that the limits allow and places every operand in a binding.
pub(super) fn bind(
    spec: &NormSpec,
    caps: &Caps,
    layout: &Layout,
    rows: u64,
    rows_a_group: u64,
    access: &AccessMap,
) -> Result<(Vec<Binding>, Vec<Chunk>)> {
    let operands = layout.operands(spec);
    let alignment = u64::from(caps.storage_alignment).max(WIDE);
    let limit = caps.max_binding.min(MOST_BYTES);
    let chunk_rows = rows_that_fit(spec, caps, &operands, alignment, limit, rows_a_group)?;
    if rows.div_ceil(chunk_rows) > MOST_CHUNKS {
        return Err(Error::Limit(Detail::new(
            "rows",
            format!("at most {MOST_CHUNKS} chunks of the {chunk_rows} rows that fit a binding"),
            format!("{rows} rows"),
            "run fewer rows at once",
        )));
    }
    let starts = (0..rows).step_by(usize::try_from(chunk_rows).unwrap_or(usize::MAX));
    let spans = |first_row: u64, rows: u64, operand: &Operand| span(operand, spec.hidden, first_row, rows, alignment);

    // Operands in the output's buffer get a writable binding of their own, or, where two such bindings would overlap (which
    // browsers refuse), one that covers them all.
    let output = operands.last().copied();
    let beside_output = |o: &Operand| output.is_some_and(|out| o.name != out.name && o.place.buffer == out.place.buffer);
    let crowd: Vec<&Operand> = operands.iter().filter(|o| output.is_some_and(|out| o.place.buffer == out.place.buffer)).collect();
    let crowded = starts.clone().any(|first| {
        let mut ranges: Vec<_> = crowd.iter().map(|o| spans(first, chunk_rows.min(rows - first), o)).collect();
        ranges.sort_unstable();
        ranges.windows(2).any(|pair| pair[0].1 > pair[1].0)
    });
    let merged = |o: &Operand| crowded && beside_output(o);

    let mut bindings: Vec<Binding> = Vec::new();
    for operand in operands.iter().filter(|o| !merged(o)) {
        let is_output = output.is_some_and(|out| out.name == operand.name);
        let through: Vec<_> =
            operands.iter().filter(|o| o.name == operand.name || (is_output && merged(o))).map(|o| o.name).collect();
        bindings.push(Binding {
            name: operand.name,
            wide: through.iter().all(|name| access.of(name) == Access::Wide),
            writable: is_output || beside_output(operand),
            buffer: operand.place.buffer,
            operands: through,
        });
    }
    if bindings.len() > caps.max_storage_buffers as usize {
        return Err(Error::Limit(Detail::new(
            "operands",
            format!("at most {} storage buffers", caps.max_storage_buffers),
            bindings.len().to_string(),
            "place operands in one buffer",
        )));
    }

    let mut chunks = Vec::new();
    for first_row in starts {
        let n = chunk_rows.min(rows - first_row);
        let mut chunk = Chunk { first_row, rows: n, ranges: Vec::new(), params: Params::default() };
        for binding in &bindings {
            let members = operands.iter().filter(|o| binding.operands.contains(&o.name));
            let (low, high) = members
                .clone()
                .map(|o| spans(first_row, n, o))
                .fold((u64::MAX, 0), |(low, high), (a, b)| (low.min(a), high.max(b)));
            if high - low > limit {
                return Err(Error::Limit(Detail::new(
                    binding.operands.join(" and "),
                    format!("one binding of at most {limit} bytes, for they lie in one buffer and share 256-byte pages"),
                    format!("{} bytes", high - low),
                    "place them apart by the device's offset alignment, or in buffers of their own",
                )));
            }
            for operand in members {
                set_start(&mut chunk.params, operand, first_row, low)?;
            }
            // Whole words at least; 16 bytes where the binding is an array of vec4.
            chunk.ranges.push((low, high - low));
        }
        for (range, binding) in chunk.ranges.iter_mut().zip(&bindings) {
            let unit = if binding.wide { WIDE } else { 4 };
            range.1 = range.1.next_multiple_of(unit);
        }
        chunks.push(chunk);
    }
    Ok((bindings, chunks))
}

/// First (aligned) and last byte that a binding of these rows of the operand spans.
fn span(operand: &Operand, hidden: u64, first_row: u64, rows: u64, alignment: u64) -> (u64, u64) {
    let start = operand.place.offset + first_row * operand.stride();
    let rows = if operand.by_row { rows } else { 1 };
    let end = start + rows.saturating_sub(1) * operand.stride() + hidden * operand.dtype.size();
    (start / alignment * alignment, end.next_multiple_of(4))
}

fn rows_that_fit(
    spec: &NormSpec,
    caps: &Caps,
    operands: &[Operand],
    alignment: u64,
    limit: u64,
    rows_a_group: u64,
) -> Result<u64> {
    let mut fit = u64::MAX;
    for operand in operands {
        let row = spec.hidden * operand.dtype.size();
        // The start may lie anywhere within the alignment, and the end is rounded up.
        let room = limit.checked_sub(alignment + WIDE).and_then(|room| room.checked_sub(row)).ok_or_else(|| {
            Error::Limit(Detail::new(
                operand.name,
                format!("rows that fit one binding of {limit} bytes"),
                format!("{row} bytes a row"),
                "open the device with the adapter's limits, or shard the row",
            ))
        })?;
        if operand.by_row {
            fit = fit.min(room / operand.stride() + 1);
        }
    }
    // Pairs that share words may begin one row before the chunk.
    let groups = u64::from(caps.max_workgroups).saturating_mul(u64::from(caps.max_workgroups));
    let by_grid = groups.min(u64::from(u32::MAX) / rows_a_group) * rows_a_group;
    let by_grid = by_grid.saturating_sub(u64::from(rows_a_group > 1));
    let fit = fit.min(by_grid).min(1 << 30);
    if fit == 0 {
        return Err(Error::Limit(Detail::new(
            "workgroups",
            "at least 1 on an axis",
            caps.max_workgroups.to_string(),
            "pass the limits of a device",
        )));
    }
    // A multiple of 8 where there is a choice keeps chunks alike.
    Ok(if fit >= 8 { fit / 8 * 8 } else { fit })
}

fn set_start(params: &mut Params, operand: &Operand, first_row: u64, low: u64) -> Result<()> {
    let narrow = |value: u64| {
        u32::try_from(value).map_err(|_| {
            Error::Limit(Detail::new(
                operand.name,
                "strides and offsets below 2^32 elements within a binding",
                value.to_string(),
                "place the tensor more densely",
            ))
        })
    };
    let first = operand.place.offset + first_row * operand.stride() - low;
    let start = narrow(first / operand.dtype.size())?;
    // A single row may have any stride, which is then never used.
    let stride = u32::try_from(operand.place.row_stride).unwrap_or(0);
    match operand.name {
        "input" => (params.input_start, params.input_stride) = (start, stride),
        "weight" => params.weight_start = start,
        "bias" => params.bias_start = start,
        _ => (params.output_start, params.output_stride) = (start, stride),
    }
    Ok(())
}
