//! The buffers that a norm reads and writes.

use crate::error::{Detail, Error, Result};
use crate::plan::{Layout, Placement};
use crate::slot::{BySlot, Slot};
use crate::spec::NormSpec;

/// One operand on the device: a buffer, a byte offset and a row stride.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Operand<'a> {
    /// The buffer, with usage `STORAGE`, of the norm's own device: one of another device is an error, one of another
    /// `wgpu::Instance` makes wgpu itself panic.
    pub buffer: &'a wgpu::Buffer,
    /// First byte: a multiple of the dtype's size (of 4 for codes of 8 bits), and of nothing else.
    pub offset: u64,
    /// Elements from one row to the next; those of a dense tensor where there is none. Ignored for weight and bias.
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
pub struct Operands<'a> {
    operands: BySlot<Operand<'a>>,
    /// Outputs that are meant to replace an input.
    replacing: BySlot<()>,
}

impl<'a> Operands<'a> {
    /// Rows read and rows written, apart from each other.
    pub fn new(input: impl Into<Operand<'a>>, output: impl Into<Operand<'a>>) -> Self {
        let nothing = Self { operands: BySlot::default(), replacing: BySlot::default() };
        nothing.with(Slot::Input, input.into()).with(Slot::Output, output.into())
    }
    /// Rows that the result replaces.
    pub fn in_place(rows: impl Into<Operand<'a>>) -> Self {
        let rows = rows.into();
        Self::new(rows, rows).replacing(Slot::Output)
    }
    /// Rows read, and a residual that their norm is added to: the sum replaces it. For [`NormSpec::then_add_residual`].
    pub fn onto_residual(input: impl Into<Operand<'a>>, residual: impl Into<Operand<'a>>) -> Self {
        let residual = residual.into();
        Self::new(input, residual).with(Slot::Residual, residual).replacing(Slot::Output)
    }
    /// What a backward pass reads and writes: the rows that the norm read, the gradient of what it wrote, and a place for the gradient
    /// of the rows. For [`NormSpec::backward`].
    pub fn backward(
        input: impl Into<Operand<'a>>,
        grad_output: impl Into<Operand<'a>>,
        grad_input: impl Into<Operand<'a>>,
    ) -> Self {
        Self::new(input, grad_input).with(Slot::GradOutput, grad_output.into())
    }
    /// A backward pass whose result replaces the gradient that it comes from.
    pub fn backward_in_place(input: impl Into<Operand<'a>>, gradient: impl Into<Operand<'a>>) -> Self {
        let gradient = gradient.into();
        Self::backward(input, gradient, gradient).replacing(Slot::Output)
    }
    /// A backward pass whose result replaces the gradient that comes back along the residual stream. For
    /// [`NormSpec::grad_residual_out`].
    pub fn backward_onto_stream(
        input: impl Into<Operand<'a>>,
        grad_output: impl Into<Operand<'a>>,
        stream: impl Into<Operand<'a>>,
    ) -> Self {
        let stream = stream.into();
        Self::backward(input, grad_output, stream).with(Slot::GradResidualOut, stream).replacing(Slot::Output)
    }
    /// The same with a weight.
    pub fn weight(self, weight: impl Into<Operand<'a>>) -> Self {
        self.with(Slot::Weight, weight.into())
    }
    /// The same with a bias.
    pub fn bias(self, bias: impl Into<Operand<'a>>) -> Self {
        self.with(Slot::Bias, bias.into())
    }
    /// The same with a residual, and where its sum with the input is written. For [`NormSpec::add_residual`].
    pub fn residual(self, residual: impl Into<Operand<'a>>, residual_out: impl Into<Operand<'a>>) -> Self {
        self.with(Slot::Residual, residual.into()).with(Slot::ResidualOut, residual_out.into())
    }
    /// The same with a residual that its sum with the input replaces. For [`NormSpec::add_residual`].
    pub fn residual_in_place(self, residual: impl Into<Operand<'a>>) -> Self {
        let residual = residual.into();
        self.residual(residual, residual).replacing(Slot::ResidualOut)
    }
    /// The same with a residual that is added to the result, and left as it is. For [`NormSpec::then_add_residual`].
    pub fn then_add(self, residual: impl Into<Operand<'a>>) -> Self {
        self.with(Slot::Residual, residual.into())
    }
    /// The same with a gate. For [`NormSpec::gate_input`] and [`NormSpec::gate_output`].
    pub fn gate(self, gate: impl Into<Operand<'a>>) -> Self {
        self.with(Slot::Gate, gate.into())
    }
    /// The same with the statistics of all shards. For [`NormSpec::apply`].
    pub fn statistics(self, statistics: impl Into<Operand<'a>>) -> Self {
        self.with(Slot::Statistics, statistics.into())
    }
    /// The same with a place for the scale of each row. For [`NormSpec::rstd`].
    pub fn rstd(self, rstd: impl Into<Operand<'a>>) -> Self {
        self.with(Slot::Rstd, rstd.into())
    }
    /// The same with a place for the scale of each row's codes. For [`NormSpec::quantized`].
    pub fn scale(self, scale: impl Into<Operand<'a>>) -> Self {
        self.with(Slot::Scale, scale.into())
    }
    /// The same with the scale of each row, as the forward pass wrote it. For [`NormSpec::saved_rstd`].
    pub fn saved_rstd(self, rstd: impl Into<Operand<'a>>) -> Self {
        self.with(Slot::SavedRstd, rstd.into())
    }
    /// The same with the gradient of what the norm wrote, where the result replaces the input: [`Operands::in_place`] in a backward pass.
    pub fn grad_output(self, grad_output: impl Into<Operand<'a>>) -> Self {
        self.with(Slot::GradOutput, grad_output.into())
    }
    /// The same with the gradient of the sum that was written back. For [`NormSpec::grad_residual_out`].
    pub fn grad_residual_out(self, grad_residual_out: impl Into<Operand<'a>>) -> Self {
        self.with(Slot::GradResidualOut, grad_residual_out.into())
    }
    /// The same with a place for the gradient of the gate. For [`NormSpec::backward`] of a norm with a gate.
    pub fn grad_gate(self, grad_gate: impl Into<Operand<'a>>) -> Self {
        self.with(Slot::GradGate, grad_gate.into())
    }
    /// The same with a gate that its gradient replaces.
    pub fn grad_gate_in_place(self, gate: impl Into<Operand<'a>>) -> Self {
        let gate = gate.into();
        self.gate(gate).grad_gate(gate).replacing(Slot::GradGate)
    }
    /// The same with a place for the gradient of the weight. For [`NormSpec::backward`].
    pub fn grad_weight(self, grad_weight: impl Into<Operand<'a>>) -> Self {
        self.with(Slot::GradWeight, grad_weight.into())
    }
    /// The same with a place for the gradient of the bias. For [`NormSpec::backward`].
    pub fn grad_bias(self, grad_bias: impl Into<Operand<'a>>) -> Self {
        self.with(Slot::GradBias, grad_bias.into())
    }
    /// The same with any operand, by its name.
    pub fn with(mut self, slot: Slot, operand: Operand<'a>) -> Self {
        self.operands.set(slot, Some(operand));
        self.replacing.set(slot, None);
        self
    }

    /// The same with an output that may lie over an input.
    fn replacing(mut self, slot: Slot) -> Self {
        self.replacing.set(slot, Some(()));
        self
    }

    /// The distinct buffers, numbered as in [`Operands::layout`].
    pub(crate) fn buffers(&self) -> Vec<&'a wgpu::Buffer> {
        let mut distinct: Vec<&wgpu::Buffer> = Vec::new();
        for (_, operand) in self.operands.iter() {
            if !distinct.contains(&operand.buffer) {
                distinct.push(operand.buffer);
            }
        }
        distinct
    }

    /// Where everything lies, as plain data.
    pub(crate) fn layout(&self, spec: &NormSpec) -> Result<Layout> {
        let buffers = self.buffers();
        let place = |slot: Slot, operand: &Operand<'_>| Placement {
            buffer: buffers.iter().position(|b| *b == operand.buffer).unwrap_or(0) as u32,
            size: operand.buffer.size(),
            offset: operand.offset,
            row_stride: operand.row_stride.unwrap_or(spec.dense_stride(slot)),
        };
        let layout = Layout::from(self.operands.map(place));
        for (slot, operand) in self.operands.iter() {
            if !operand.buffer.usage().contains(wgpu::BufferUsages::STORAGE) {
                return Err(Error::Buffer(Detail::new(
                    slot.name(),
                    "a buffer with usage STORAGE",
                    format!("{:?}", operand.buffer.usage()),
                    "add the usage where the buffer is created",
                )));
            }
        }
        for (output, input, form, applies) in [
            (Slot::Output, Slot::Input, "in_place", true),
            (Slot::Output, Slot::Residual, "onto_residual", spec.adds_after()),
            (Slot::ResidualOut, Slot::Residual, "residual_in_place", true),
            (Slot::Output, Slot::GradOutput, "backward_in_place", true),
            (Slot::Output, Slot::GradResidualOut, "backward_onto_stream", true),
            (Slot::GradGate, Slot::Gate, "grad_gate_in_place", true),
        ] {
            if applies && layout.is_over(output, input) && self.replacing.get(output).is_none() {
                return Err(Error::Aliasing(Detail::new(
                    output.name(),
                    format!("rows apart from the {input}"),
                    format!("the {input}'s own"),
                    format!("use Operands::{form} to replace the {input}"),
                )));
            }
        }
        Ok(layout)
    }
}
