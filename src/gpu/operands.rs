//! The buffers that a norm reads and writes.

use crate::error::{Detail, Error, Result};
use crate::plan::{Layout, Placement};
use crate::spec::NormSpec;

/// One operand on the device: a buffer, a byte offset and a row stride.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Operand<'a> {
    /// The buffer, with usage `STORAGE`, of the norm's own device: one of another device is an error, one of another
    /// `wgpu::Instance` makes wgpu itself panic.
    pub buffer: &'a wgpu::Buffer,
    /// First byte: a multiple of the dtype's size, and of nothing else.
    pub offset: u64,
    /// Elements from one row to the next; `hidden` where there is none. Ignored for weight and bias.
    pub row_stride: Option<u64>,
}

impl<'a> Operand<'a> {
    /// The operand at the start of a buffer, rows one after the other.
    pub fn new(buffer: &'a wgpu::Buffer) -> Self {
        Self { buffer, offset: 0, row_stride: None }
    }
    /// The same from byte `offset`.
    pub fn offset(mut self, offset: u64) -> Self {
        self.offset = offset;
        self
    }
    /// The same with rows that begin `elements` after each other.
    pub fn row_stride(mut self, elements: u64) -> Self {
        self.row_stride = Some(elements);
        self
    }
}

impl<'a> From<&'a wgpu::Buffer> for Operand<'a> {
    fn from(buffer: &'a wgpu::Buffer) -> Self {
        Self::new(buffer)
    }
}

/// What a norm reads and writes on the device. Operands may be ranges of one buffer, but only the in-place forms let an
/// output lie over an input.
///
/// ```no_run
/// # fn carve(arena: &wgpu::Buffer, weights: &wgpu::Buffer) {
/// use wgpu_rmsnorm::{Operand, Operands};
///
/// let operands = Operands::new(Operand::new(arena), Operand::new(arena).offset(65_536)).weight(weights);
/// let in_place = Operands::in_place(arena).weight(Operand::new(weights).offset(8192));
/// # let _ = (operands, in_place);
/// # }
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Operands<'a> {
    /// The rows read.
    pub input: Operand<'a>,
    /// One value a channel.
    pub weight: Option<Operand<'a>>,
    /// One value a channel.
    pub bias: Option<Operand<'a>>,
    /// The rows added to the input, or to the result.
    pub residual: Option<Operand<'a>>,
    /// The sum with the input, written back.
    pub residual_out: Option<Operand<'a>>,
    /// The rows written.
    pub output: Operand<'a>,
    in_place: bool,
    residual_in_place: bool,
}

impl<'a> Operands<'a> {
    /// Rows read and rows written, apart from each other.
    pub fn new(input: impl Into<Operand<'a>>, output: impl Into<Operand<'a>>) -> Self {
        Self::of_rows(input.into(), output.into(), false)
    }
    /// Rows read, and a residual that their norm is added to: the sum replaces it. For [`NormSpec::then_add_residual`].
    pub fn onto_residual(input: impl Into<Operand<'a>>, residual: impl Into<Operand<'a>>) -> Self {
        let residual = residual.into();
        Self { residual: Some(residual), residual_in_place: true, ..Self::of_rows(input.into(), residual, false) }
    }
    /// The same with a residual that is added to the result, and left as it is. For [`NormSpec::then_add_residual`].
    pub fn then_add(mut self, residual: impl Into<Operand<'a>>) -> Self {
        self.residual = Some(residual.into());
        self
    }
    /// Rows that the result replaces.
    pub fn in_place(rows: impl Into<Operand<'a>>) -> Self {
        let rows = rows.into();
        Self::of_rows(rows, rows, true)
    }
    /// The same with a weight.
    pub fn weight(mut self, weight: impl Into<Operand<'a>>) -> Self {
        self.weight = Some(weight.into());
        self
    }
    /// The same with a bias.
    pub fn bias(mut self, bias: impl Into<Operand<'a>>) -> Self {
        self.bias = Some(bias.into());
        self
    }

    /// The same with a residual, and where its sum with the input is written. For [`NormSpec::add_residual`].
    pub fn residual(mut self, residual: impl Into<Operand<'a>>, residual_out: impl Into<Operand<'a>>) -> Self {
        (self.residual, self.residual_out) = (Some(residual.into()), Some(residual_out.into()));
        self.residual_in_place = false;
        self
    }
    /// The same with a residual that its sum with the input replaces. For [`NormSpec::add_residual`].
    pub fn residual_in_place(mut self, residual: impl Into<Operand<'a>>) -> Self {
        let residual = residual.into();
        (self.residual, self.residual_out) = (Some(residual), Some(residual));
        self.residual_in_place = true;
        self
    }

    fn of_rows(input: Operand<'a>, output: Operand<'a>, in_place: bool) -> Self {
        let (weight, bias, residual, residual_out) = (None, None, None, None);
        Self { input, weight, bias, residual, residual_out, output, in_place, residual_in_place: false }
    }

    /// The distinct buffers, numbered as in [`Operands::layout`].
    pub(crate) fn buffers(&self) -> Vec<&'a wgpu::Buffer> {
        let mut distinct: Vec<&wgpu::Buffer> = Vec::new();
        let all = [Some(self.input), self.weight, self.bias, self.residual, self.residual_out, Some(self.output)];
        for operand in all.into_iter().flatten() {
            if !distinct.contains(&operand.buffer) {
                distinct.push(operand.buffer);
            }
        }
        distinct
    }

    /// Where everything lies, as plain data.
    pub(crate) fn layout(&self, spec: &NormSpec) -> Result<Layout> {
        let buffers = self.buffers();
        let place = |name: &str, operand: Operand<'_>| {
            if !operand.buffer.usage().contains(wgpu::BufferUsages::STORAGE) {
                return Err(Error::Buffer(Detail::new(
                    name,
                    "a buffer with usage STORAGE",
                    format!("{:?}", operand.buffer.usage()),
                    "add the usage where the buffer is created",
                )));
            }
            Ok(Placement {
                buffer: buffers.iter().position(|b| *b == operand.buffer).unwrap_or(0) as u32,
                size: operand.buffer.size(),
                offset: operand.offset,
                row_stride: operand.row_stride.unwrap_or(spec.hidden),
            })
        };
        let layout = Layout {
            input: place("input", self.input)?,
            weight: self.weight.map(|w| place("weight", w)).transpose()?,
            bias: self.bias.map(|b| place("bias", b)).transpose()?,
            residual: self.residual.map(|r| place("residual", r)).transpose()?,
            residual_out: self.residual_out.map(|r| place("residual_out", r)).transpose()?,
            output: place("output", self.output)?,
        };
        let onto = spec.adds_after() && layout.residual == Some(layout.output);
        for (output, input, lies_over, is_meant, form) in [
            ("output", "input", layout.is_in_place(), self.in_place, "in_place"),
            ("output", "residual", onto, self.residual_in_place, "onto_residual"),
            (
                "residual_out",
                "residual",
                layout.residual.is_some() && layout.residual == layout.residual_out,
                self.residual_in_place,
                "residual_in_place",
            ),
        ] {
            if lies_over && !is_meant {
                return Err(Error::Aliasing(Detail::new(
                    output,
                    format!("rows apart from the {input}"),
                    format!("the {input}'s own"),
                    format!("use Operands::{form} to replace the {input}"),
                )));
            }
        }
        Ok(layout)
    }
}
