//! Running a case on a device.

use super::beside::check_all;
use super::case::{Arrangement, Case, Lowered, Twin};
use super::data::{Data, Regime};
use super::model::Outcome;

use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::gpu::{Gpu, Operand, Operands, filled_buffer, new_encoder, read_into};
use crate::inputs::Inputs;
use crate::outputs::Outputs;
use crate::plan::Force;
use crate::slot::{BySlot, Slot};
use crate::spec::NormSpec;
use crate::values::{Slice, Values};

/// What fills the output before a run, a NaN in every dtype, so that what is left untouched shows; and a number for the cases
/// in which NaN is right.
const SENTINEL: u8 = 0xff;
const FINITE_SENTINEL: u8 = 0x5a;
/// Bytes behind the output that must stay as they are.
const GUARD: u64 = 64;

/// How a case ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Status {
    /// Within the error model, with the bits it must have, and nothing written beside the output.
    Passed,
    /// Not so, and why.
    Failed(String),
    /// The library refused to run it, or could not.
    Broken(String),
    /// Not run, and why.
    Skipped(String),
}

/// What came of a case.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CaseReport {
    /// The case's kind.
    pub kind: &'static str,
    /// The case's name.
    pub name: String,
    /// The output's dtype.
    pub output: DType,
    /// How it ended.
    pub status: Status,
    /// The comparison with the truth.
    pub outcome: Outcome,
}

/// Compiled pipelines that are worth keeping from case to case: thousands of them take gigabytes.
pub const PIPELINES_TO_KEEP: usize = 128;

/// Runs one case. Errors of the library are failures of the case, but for a device that is too small, which is a reason to skip.
pub async fn run_case(gpu: &Gpu, case: &Case) -> CaseReport {
    let mut outcome = Outcome::default();
    let status = match evaluate(gpu, case, &mut outcome).await {
        Ok(None) => Status::Passed,
        Ok(Some(complaint)) => Status::Failed(complaint),
        Err(error @ (Error::OutOfMemory { .. } | Error::Limit(_))) if !case.lowered.is_lower() => {
            Status::Skipped(error.to_string())
        }
        Err(error) => Status::Broken(error.to_string()),
    };
    CaseReport { kind: case.kind, name: case.name.clone(), output: case.spec.output_dtype(), status, outcome }
}

/// `None` where the case passed, else what is wrong.
async fn evaluate(gpu: &Gpu, case: &Case, outcome: &mut Outcome) -> Result<Option<String>> {
    let data = Data::beside(&case.spec, case.rows, case.regime, case.beside, case.weights);
    let rows = case.recorded.unwrap_or(case.rows);
    let special = gpu.with_caps(case.lowered.apply(gpu.caps()));
    let run = Run { gpu: &special, case, data: &data, rows };
    let got = match run.execute(case.arrangement, case.force).await? {
        Ok(values) => values,
        Err(complaint) => return Ok(Some(complaint)),
    };
    let inputs = data.inputs().rows(&case.spec, 0..rows);
    *outcome = check_all(&case.spec, &inputs, &got)?;
    if let Some(first) = outcome.mismatches.first() {
        return Ok(Some(format!(
            "{} of {} elements beyond the error model, the first at {}: {:e} where {:e} is right, within {:e}",
            outcome.wrong, outcome.elements, first.index, first.got, first.truth, first.allowed
        )));
    }
    if let Some(most) = case.most_misrounded {
        let share = outcome.misrounded as f64 / outcome.elements as f64;
        if share > most {
            return Ok(Some(format!("{share:.2e} of the elements differ from correct rounding, more than {most:.0e}")));
        }
    }
    // The kind of device has a say in the order of summation, and so in the bits; limits have none.
    let gpu = &gpu.with_caps(Lowered { as_gpu: case.lowered.as_gpu, ..Lowered::default() }.apply(gpu.caps()));
    let plain = Run { gpu, case, data: &data, rows };
    match &case.twin {
        Twin::None => Ok(None),
        Twin::Plain => Ok(differs(&got, &plain.execute(Arrangement::default(), Force::default()).await?, "the plain run")),
        Twin::Repeated(times) => {
            for time in 1..*times {
                let again = run.execute(case.arrangement, case.force).await?;
                if let Some(complaint) = differs(&got, &again, &format!("repetition {time}")) {
                    return Ok(Some(complaint));
                }
            }
            Ok(None)
        }
        Twin::RowsAlone(rows) => {
            for &row in rows {
                let alone = row_alone(gpu, case, &data, row).await?;
                if let Some(complaint) = differs(&row_of(&got, case, row), &Ok(alone), "the row alone") {
                    return Ok(Some(format!("row {row}: {complaint}")));
                }
            }
            Ok(None)
        }
        Twin::NoMore => {
            let no_more = gpu.norm(case.spec)?.run_all(&inputs).await?;
            Ok(differs(&got, &Ok(no_more), "the same rows, where no more were prepared for"))
        }
        Twin::Unfused => {
            let unfused = unfused(gpu, case, &inputs, &got).await?;
            Ok(differs(&got, &Ok(unfused), "the norm and the addition, one after the other"))
        }
        Twin::Neutral => {
            let neutral = neutral(gpu, case, &inputs).await?;
            Ok(differs(&Outputs::new(got.into_output()), &Ok(neutral), "the norm with neutral operands"))
        }
    }
}

/// The same by a norm that has every operand which this one lacks, with a value that changes nothing. (A gate has none.)
async fn neutral(gpu: &Gpu, case: &Case, inputs: &Inputs<'_>) -> Result<Outputs> {
    let mut spec = case.spec;
    let zeros = Values::round_from(DType::F32, &vec![0.0; spec.weight_length() as usize]);
    // The zero that takes no sign away.
    let minus_zeros = Values::round_from(spec.input, &vec![-0.0; inputs.input().len()]);
    let mut inputs = *inputs;
    let output = spec.norm_dtype();
    if spec.weight.is_none() {
        spec = spec.weight(DType::F32);
    }
    let ones = spec.initial_weight()?;
    if inputs.get(Slot::Weight).is_none() {
        inputs = inputs.weight(&ones);
    }
    if spec.bias.is_none() {
        (spec, inputs) = (spec.bias(DType::F32), inputs.bias(&zeros));
    }
    if spec.residual.is_none() && !spec.gates_input() {
        (spec, inputs) = (spec.add_residual(spec.input), inputs.residual(&minus_zeros));
    }
    if spec.statistics_length.is_none() && !spec.centered {
        spec = spec.partial(spec.group_length());
    }
    let outputs = gpu.norm(spec.output(output).rstd())?.run_all(&inputs).await?;
    Ok(Outputs::new(outputs.into_output()))
}

/// The same by a norm without a residual, and an addition on the host.
async fn unfused(gpu: &Gpu, case: &Case, inputs: &Inputs<'_>, got: &Outputs) -> Result<Outputs> {
    let spec = &case.spec;
    let alone = inputs.with(Slot::Residual, None);
    if let (Some(residual), true) = (inputs.get(Slot::Residual), spec.adds_after()) {
        let normed = gpu.norm(spec.alone())?.run_values(&alone).await?;
        let sum = |index| f64::from((normed.as_slice().at(index) + residual.at(index)) as f32);
        let sums: Vec<f64> = (0..residual.len()).map(sum).collect();
        return Ok(Outputs::new(Values::round_from(spec.output_dtype(), &sums)));
    }
    let Some(sum) = got.get(Slot::ResidualOut) else { return Ok(got.clone()) };
    let outputs = gpu.norm(spec.of_sum())?.run_all(&alone.with(Slot::Input, Some(sum.as_slice()))).await?;
    Ok(outputs.with(Slot::ResidualOut, Some(sum.clone())))
}

fn differs(got: &Outputs, other: &Result<Outputs, String>, whose: &str) -> Option<String> {
    let other = match other {
        Ok(outputs) => outputs,
        Err(complaint) => return Some(format!("{whose}: {complaint}")),
    };
    if got.iter().map(|(slot, _)| slot).ne(other.iter().map(|(slot, _)| slot)) {
        return Some(format!("other operands are written than in {whose}"));
    }
    got.iter().zip(other.iter()).find_map(|((slot, got), (_, other))| {
        let (got, other) = (got.as_slice(), other.as_slice());
        let size = got.dtype().size() as usize;
        let mut pairs = got.bytes().chunks(size).zip(other.bytes().chunks(size)).enumerate();
        // Sign and payload of a NaN are the driver's, and no result.
        let first = pairs.find(|(index, (a, b))| a != b && !(got.at(*index).is_nan() && other.at(*index).is_nan()));
        match first.map(|(index, _)| index) {
            Some(first) => Some(format!("element {first} of the {slot} has other bits than in {whose}")),
            None if got.len() != other.len() => Some(format!("the {slot} has another length than in {whose}")),
            None => None,
        }
    })
}

/// What was written for one row.
fn row_of(outputs: &Outputs, case: &Case, row: u64) -> Outputs {
    let of = |(slot, values): (Slot, &Values)| {
        let length = case.spec.length_of(slot) as usize;
        let (dtype, bytes) =
            (values.as_slice().dtype(), values.as_slice().range(row as usize * length..(row as usize + 1) * length));
        (slot, Values::from_bytes(dtype, bytes.bytes()))
    };
    let nothing = Outputs::new(Values::round_from(DType::F32, &[]));
    // Sums over all rows are of none.
    outputs
        .iter()
        .filter(|(slot, _)| slot.is_by_row())
        .map(of)
        .fold(nothing, |outputs, (slot, values)| outputs.with(slot, Some(values)))
}

async fn row_alone(gpu: &Gpu, case: &Case, data: &Data, row: u64) -> Result<Outputs> {
    let outputs = gpu.norm(case.spec)?.run_all(&data.inputs().rows(&case.spec, row..row + 1)).await?;
    let sums = Slot::ALL.into_iter().filter(|slot| slot.is_parameter_gradient());
    Ok(sums.fold(outputs, |outputs, slot| outputs.with(slot, None)))
}

/// One execution of a case, in buffers that it lays out itself.
struct Run<'a> {
    gpu: &'a Gpu,
    case: &'a Case,
    data: &'a Data,
    rows: u64,
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
    async fn execute(&self, arrangement: Arrangement, force: Force) -> Result<Result<Outputs, String>> {
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
