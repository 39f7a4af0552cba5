//! One execution of a case: operands laid out as it says, and what was written beside them.

use super::case::{Arrangement, Case};
use super::data::{Data, Regime};
use crate::dtype::DType;
use crate::error::Result;
use crate::gpu::{Gpu, Operand, Operands, filled_buffer, new_encoder, read_into};
use crate::outputs::Outputs;
use crate::plan::Force;
use crate::shader::Shader;
use crate::slot::{BySlot, Slot};
use crate::spec::NormSpec;
use crate::values::{Slice, Values};

/// What fills the output before a run, a NaN in every dtype, so that what is left untouched shows; and a number for the cases
/// in which NaN is right.
const SENTINEL: u8 = 0xff;
const FINITE_SENTINEL: u8 = 0x5a;
/// Bytes behind the output that must stay as they are.
const GUARD: u64 = 64;

/// One execution of a case, in buffers that it lays out itself.
pub(super) struct Run<'a> {
    pub gpu: &'a Gpu,
    pub case: &'a Case,
    pub data: &'a Data,
    pub rows: u64,
}

/// A buffer on the host before it is uploaded.
struct Image {
    bytes: Vec<u8>,
    sentinel: u8,
}

/// Where an operand lies: in which image, and from which byte.
type At = (usize, u64);

impl Image {
    /// Appends an operand of `rows` rows and returns the byte at which it starts. Gaps and surroundings hold the sentinel.
    fn place(&mut self, values: Option<Slice<'_>>, shape: &Shape, arrangement: Arrangement) -> u64 {
        let size = shape.size as usize;
        let unit = if size == 1 { 4 } else { size };
        if arrangement.paged {
            self.bytes.resize(self.bytes.len().next_multiple_of(256), self.sentinel);
        }
        self.bytes.resize(self.bytes.len().next_multiple_of(unit) + arrangement.offset as usize * unit, self.sentinel);
        let start = self.bytes.len();
        let row = shape.length as usize * size;
        for index in 0..shape.rows as usize {
            match values {
                Some(values) => self.bytes.extend_from_slice(&values.bytes()[index * row..(index + 1) * row]),
                None => self.bytes.resize(self.bytes.len() + row, self.sentinel),
            }
            self.bytes.resize(self.bytes.len() + (shape.stride - shape.length) as usize * size, self.sentinel);
        }
        start as u64
    }
}

/// An operand as it lies in memory, in elements.
struct Shape {
    size: u64,
    rows: u64,
    length: u64,
    stride: u64,
}

impl Run<'_> {
    /// Executes and returns what was written, or says what was written beside it.
    pub async fn execute(&self, arrangement: Arrangement, force: Force) -> Result<Result<Outputs, String>> {
        let spec = &self.case.spec;
        let (mut images, places) = self.place_all(arrangement);
        for image in &mut images {
            image.bytes.resize((image.bytes.len() + GUARD as usize).next_multiple_of(16), image.sentinel);
        }
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let mut buffers = Vec::new();
        for image in &images {
            buffers.push(filled_buffer(self.gpu.device(), "case", usage, &image.bytes).await?);
        }
        let operands = self.operands(arrangement, &places, &buffers);
        let prepared = self.gpu.norm(*spec)?.prepare_with(&operands, self.case.rows, force).await?;
        let mut encoder = new_encoder(self.gpu).await?;
        prepared.record_in(&mut encoder, self.rows)?;
        let mut after = Vec::new();
        let mut encoder = Some(encoder);
        for (image, buffer) in images.iter().zip(&buffers) {
            let mut bytes = Vec::with_capacity(image.bytes.len());
            // Behind the norm, and then behind what was submitted.
            let encoder = match encoder.take() {
                Some(encoder) => encoder,
                None => new_encoder(self.gpu).await?,
            };
            read_into(self.gpu, encoder, buffer, 0..image.bytes.len() as u64, &mut bytes).await?;
            after.push(bytes);
        }
        let mut outputs = Outputs::new(Values::round_from(spec.output_dtype(), &[]));
        for (slot, &(image, start)) in places.iter().filter(|(slot, _)| slot.is_written()) {
            let values = self.take_rows(slot, &images[image].bytes, &mut after[image], start, arrangement);
            outputs = outputs.with(slot, Some(values));
        }
        for (number, (image, after)) in images.iter().zip(&after).enumerate() {
            if let Some(byte) = image.bytes.iter().zip(after).position(|(before, after)| before != after) {
                return Ok(Err(format!("byte {byte} of buffer {number}, beside the outputs, was written")));
            }
        }
        Ok(Ok(outputs))
    }

    /// The texts of the kernels that [`Run::execute`] runs by: the plan is made of buffers that nothing is written to.
    pub fn kernels(&self, arrangement: Arrangement, force: Force) -> Result<Vec<Shader>> {
        let (images, places) = self.place_all(arrangement);
        let empty = |image: &Image| {
            self.gpu.device().create_buffer(&wgpu::BufferDescriptor {
                label: Some("case"),
                size: (image.bytes.len() as u64 + GUARD).next_multiple_of(16),
                usage: wgpu::BufferUsages::STORAGE,
                mapped_at_creation: false,
            })
        };
        let buffers: Vec<wgpu::Buffer> = images.iter().map(empty).collect();
        let layout = self.operands(arrangement, &places, &buffers).layout(&self.case.spec)?;
        buffers.iter().for_each(wgpu::Buffer::destroy);
        let plan = self.gpu.norm(self.case.spec)?.plan_with(&layout, self.case.rows, force)?;
        Ok([plan.first_shader(), Some(plan.shader()), plan.last_shader()].into_iter().flatten().collect())
    }

    fn shape(&self, slot: Slot, arrangement: Arrangement) -> Shape {
        let spec = &self.case.spec;
        let size = spec.dtype_of(slot).map_or(4, DType::size);
        let gap = arrangement.gap + if arrangement.uneven { 1 + slot as u64 } else { 0 };
        // Codes keep their rows at whole words.
        let gap = if size == 1 { gap * 4 } else { gap };
        match slot.is_by_row() {
            true => Shape { size, rows: self.case.rows, length: spec.length_of(slot), stride: spec.dense_stride(slot) + gap },
            false => Shape { size, rows: 1, length: spec.length_of(slot), stride: spec.length_of(slot) },
        }
    }

    /// Every operand in the one arena, or in an image of its own.
    fn place_all(&self, arrangement: Arrangement) -> (Vec<Image>, BySlot<At>) {
        let spec = &self.case.spec;
        let spoiled = self.case.regime == Regime::Spoiled || self.case.beside == Some(Regime::Spoiled);
        let sentinel = if spoiled { FINITE_SENTINEL } else { SENTINEL };
        let mut images = vec![Image { bytes: Vec::new(), sentinel }];
        let mut places: BySlot<At> = BySlot::default();
        // Channels first: an arena's weights come before its rows.
        let (channels, rows): (Vec<Slot>, Vec<Slot>) = Slot::ALL.into_iter().partition(|slot| !slot.is_by_row());
        for slot in channels.into_iter().chain(rows).filter(|slot| spec.dtype_of(*slot).is_some()) {
            let replaced = replaced(spec, slot, arrangement).and_then(|slot| places.get(slot).copied());
            let place = replaced.unwrap_or_else(|| {
                if !arrangement.arena && !images.last().is_none_or(|image| image.bytes.is_empty()) {
                    images.push(Image { bytes: Vec::new(), sentinel });
                }
                let values = self.data.get(slot).map(Values::as_slice);
                let image = images.len() - 1;
                (image, images[image].place(values, &self.shape(slot, arrangement), arrangement))
            });
            places.set(slot, Some(place));
        }
        (images, places)
    }

    fn operands<'a>(&self, arrangement: Arrangement, places: &BySlot<At>, buffers: &'a [wgpu::Buffer]) -> Operands<'a> {
        let spec = &self.case.spec;
        let at = places.map(|slot, &(image, offset)| {
            Operand::new(&buffers[image]).offset(offset).row_stride(self.shape(slot, arrangement).stride)
        });
        let of = |slot: Slot| at.get(slot).copied().unwrap_or(Operand::new(&buffers[0]));
        let mut operands = match replaced(spec, Slot::Output, arrangement) {
            Some(Slot::Residual) => Operands::onto_residual(of(Slot::Input), of(Slot::Residual)),
            Some(_) => Operands::in_place(of(Slot::Input)),
            None => Operands::new(of(Slot::Input), of(Slot::Output)),
        };
        if spec.backward.is_some() {
            let (input, grad) = (of(Slot::Input), of(Slot::GradOutput));
            operands = match replaced(spec, Slot::Output, arrangement) {
                Some(Slot::GradOutput) => Operands::backward_in_place(input, grad),
                Some(_) => Operands::backward_onto_stream(input, grad, of(Slot::GradResidualOut)),
                None => Operands::backward(input, grad, of(Slot::Output)),
            };
        }
        for (slot, &operand) in at.iter().filter(|(slot, _)| !matches!(slot, Slot::Input | Slot::Output)) {
            operands = match (slot, replaced(spec, slot, arrangement)) {
                (Slot::GradGate, Some(_)) => operands.grad_gate_in_place(operand),
                (_, Some(_)) => operands.residual_in_place(operand),
                // Said already: what replaces it came with it.
                (Slot::GradOutput | Slot::GradResidualOut, None) if replaced(spec, Slot::Output, arrangement) == Some(slot) => {
                    operands
                }
                (_, None) => operands.with(slot, operand),
            };
        }
        operands
    }

    /// Takes an output's rows out of a buffer as it was read back, and puts in their place what was there before.
    fn take_rows(&self, slot: Slot, before: &[u8], after: &mut [u8], start: u64, arrangement: Arrangement) -> Values {
        let shape = self.shape(slot, arrangement);
        let count = if slot.is_by_row() { self.rows } else { 1 };
        let (row, stride) = ((shape.length * shape.size) as usize, (shape.stride * shape.size) as usize);
        let mut rows = Vec::with_capacity(count as usize * row);
        for index in 0..count as usize {
            let first = start as usize + index * stride;
            rows.extend_from_slice(&after[first..first + row]);
            after[first..first + row].copy_from_slice(&before[first..first + row]);
        }
        Values::from_bytes(self.case.spec.dtype_of(slot).unwrap_or(DType::F32), &rows)
    }
}

/// The input that an output lies over.
fn replaced(spec: &NormSpec, slot: Slot, arrangement: Arrangement) -> Option<Slot> {
    match slot {
        Slot::Output if arrangement.in_place && spec.backward.is_some() => Some(Slot::GradOutput),
        Slot::Output if arrangement.residual_in_place && spec.dtype_of(Slot::GradResidualOut).is_some() => {
            Some(Slot::GradResidualOut)
        }
        Slot::GradGate if arrangement.residual_in_place => Some(Slot::Gate),
        Slot::Output if arrangement.in_place => Some(Slot::Input),
        Slot::Output if spec.adds_after() && arrangement.residual_in_place => Some(Slot::Residual),
        Slot::ResidualOut if arrangement.residual_in_place => Some(Slot::Residual),
        _ => None,
    }
}
