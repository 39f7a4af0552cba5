//! Running a case on a device.

use std::ops::Range;

use super::case::{Arrangement, Case, Lowered, Twin};
use super::data::{Data, Regime};
use super::model::Outcome;
use super::sums::check_all;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::gpu::{Gpu, Operand, Operands, filled_buffer, new_encoder, read_into};
use crate::inputs::Inputs;
use crate::outputs::Outputs;
use crate::plan::Force;
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
    let data = Data::new(&case.spec, case.rows, case.regime, case.weights);
    let rows = case.recorded.unwrap_or(case.rows);
    let special = gpu.with_caps(case.lowered.apply(gpu.caps()));
    let run = Run { gpu: &special, case, data: &data, rows };
    let got = match run.execute(case.arrangement, case.force).await? {
        Ok(values) => values,
        Err(complaint) => return Ok(Some(complaint)),
    };
    let inputs = first_rows(&data, case, rows);
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
                if row_of(&got, case, row) != alone {
                    return Ok(Some(format!("row {row} has other bits in the batch than alone")));
                }
            }
            Ok(None)
        }
        Twin::Unfused => {
            let unfused = unfused(gpu, case, &inputs, &got).await?;
            Ok(differs(&got, &Ok(unfused), "the norm and the addition, one after the other"))
        }
    }
}

/// The same by a norm without a residual, and an addition on the host.
async fn unfused(gpu: &Gpu, case: &Case, inputs: &Inputs<'_>, got: &Outputs) -> Result<Outputs> {
    let spec = &case.spec;
    if let (Some(residual), true) = (inputs.residual, spec.adds_after()) {
        let normed = gpu.norm(spec.alone())?.run_values(&Inputs { residual: None, ..*inputs }).await?;
        let sum = |index| f64::from((normed.as_slice().at(index) + residual.at(index)) as f32);
        let sums: Vec<f64> = (0..residual.len()).map(sum).collect();
        return Ok(Outputs::new(Values::round_from(spec.output_dtype(), &sums)));
    }
    let Some(sum) = &got.residual_out else { return Ok(got.clone()) };
    let of_sum = Inputs { input: sum.as_slice(), residual: None, ..*inputs };
    let output = gpu.norm(spec.of_sum())?.run_values(&of_sum).await?;
    Ok(Outputs::new(output).residual_out(Some(sum.clone())))
}

fn differs(got: &Outputs, other: &Result<Outputs, String>, whose: &str) -> Option<String> {
    let other = match other {
        Ok(outputs) => outputs,
        Err(complaint) => return Some(format!("{whose}: {complaint}")),
    };
    let pairs = [
        ("the output", Some(&got.output), Some(&other.output)),
        ("the sum", got.residual_out.as_ref(), other.residual_out.as_ref()),
    ];
    pairs.into_iter().find_map(|(what, got, other)| {
        let (got, other) = match (got, other) {
            (None, None) => return None,
            (Some(got), Some(other)) => (got.as_slice(), other.as_slice()),
            _ => return Some(format!("{what} is there once, and not in {whose}")),
        };
        let size = got.dtype().size() as usize;
        let first = got.bytes().chunks(size).zip(other.bytes().chunks(size)).position(|(a, b)| a != b);
        match first {
            Some(first) => Some(format!("element {first} of {what} has other bits than in {whose}")),
            None if got.len() != other.len() => Some(format!("{what} has another length than in {whose}")),
            None => None,
        }
    })
}

/// What was written for one row.
fn row_of(outputs: &Outputs, case: &Case, row: u64) -> Outputs {
    let of = |values: &Values| rows_of(values.as_slice(), case, row..row + 1);
    Outputs::new(of(&outputs.output)).residual_out(outputs.residual_out.as_ref().map(of))
}

fn rows_of(values: Slice<'_>, case: &Case, rows: Range<u64>) -> Values {
    let size = case.spec.hidden * values.dtype().size();
    Values::from_bytes(values.dtype(), &values.bytes()[(rows.start * size) as usize..(rows.end * size) as usize])
}

fn first_rows<'a>(data: &'a Data, case: &Case, rows: u64) -> Inputs<'a> {
    let mut inputs = data.inputs();
    let end = (rows * case.spec.hidden) as usize;
    inputs.input = first(inputs.input, end);
    inputs.residual = inputs.residual.map(|residual| first(residual, end));
    inputs
}

fn first(values: Slice<'_>, count: usize) -> Slice<'_> {
    match values {
        Slice::F32(v) => Slice::F32(&v[..count]),
        Slice::F16(v) => Slice::F16(&v[..count]),
        Slice::BF16(v) => Slice::BF16(&v[..count]),
    }
}

async fn row_alone(gpu: &Gpu, case: &Case, data: &Data, row: u64) -> Result<Outputs> {
    let mut inputs = data.inputs();
    let input = rows_of(inputs.input, case, row..row + 1);
    let residual = inputs.residual.map(|residual| rows_of(residual, case, row..row + 1));
    inputs.input = input.as_slice();
    inputs.residual = residual.as_ref().map(Values::as_slice);
    gpu.norm(case.spec)?.run_all(&inputs).await
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

impl Image {
    /// Appends an operand of `rows` rows and returns the byte at which it starts. Gaps and surroundings hold the sentinel.
    fn place(&mut self, values: Option<Slice<'_>>, dtype: DType, rows: u64, hidden: u64, arrangement: Arrangement) -> u64 {
        let size = dtype.size() as usize;
        if arrangement.paged {
            self.bytes.resize(self.bytes.len().next_multiple_of(256), self.sentinel);
        }
        self.bytes.resize(self.bytes.len().next_multiple_of(size) + arrangement.offset as usize * size, self.sentinel);
        let start = self.bytes.len();
        let row = hidden as usize * size;
        for index in 0..rows as usize {
            match values {
                Some(values) => self.bytes.extend_from_slice(&values.bytes()[index * row..(index + 1) * row]),
                None => self.bytes.resize(self.bytes.len() + row, self.sentinel),
            }
            self.bytes.resize(self.bytes.len() + arrangement.gap as usize * size, self.sentinel);
        }
        start as u64
    }
}

impl Run<'_> {
    /// Executes and returns what was written, or says what was written beside it.
    async fn execute(&self, arrangement: Arrangement, force: Force) -> Result<Result<Outputs, String>> {
        let (spec, data) = (&self.case.spec, self.data);
        let hidden = spec.hidden;
        let dense = Arrangement { gap: 0, ..arrangement };
        let sentinel = if self.case.regime == Regime::Spoiled { FINITE_SENTINEL } else { SENTINEL };
        let empty = || Image { bytes: Vec::new(), sentinel };
        let mut images: Vec<Image> = vec![empty()];
        // Where an operand goes: the one arena, or an image of its own.
        let mut place = |values: Option<Slice<'_>>, dtype, rows, arrangement: Arrangement| {
            if !arrangement.arena && !images.last().is_none_or(|image| image.bytes.is_empty()) {
                images.push(empty());
            }
            let image = images.len() - 1;
            (image, images[image].place(values, dtype, rows, hidden, arrangement))
        };
        let mut channels = |values: &Option<Values>| {
            let values = values.as_ref()?.as_slice();
            Some(place(Some(values), values.dtype(), 1, dense))
        };
        let (weight, bias) = (channels(&data.weight), channels(&data.bias));
        let rows = self.case.rows;
        let input = place(Some(data.input.as_slice()), spec.input, rows, arrangement);
        let residual = data.residual.as_ref().map(|r| place(Some(r.as_slice()), r.as_slice().dtype(), rows, arrangement));
        let residual_out = spec.residual_out_dtype().zip(residual).map(|(dtype, at)| match arrangement.residual_in_place {
            true => at,
            false => place(None, dtype, rows, arrangement),
        });
        let onto = residual.filter(|_| spec.adds_after() && arrangement.residual_in_place);
        let output = match (arrangement.in_place, onto) {
            (true, _) => input,
            (false, Some(residual)) => residual,
            (false, None) => place(None, spec.output_dtype(), rows, arrangement),
        };
        for image in &mut images {
            image.bytes.resize((image.bytes.len() + GUARD as usize).next_multiple_of(16), sentinel);
        }

        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let mut buffers = Vec::new();
        for image in &images {
            buffers.push(filled_buffer(self.gpu.device(), "case", usage, &image.bytes).await?);
        }
        let at =
            |(image, offset): (usize, u64)| Operand::new(&buffers[image]).offset(offset).row_stride(hidden + arrangement.gap);
        let mut operands = match onto {
            Some(residual) => Operands::onto_residual(at(input), at(residual)),
            None if arrangement.in_place => Operands::in_place(at(input)),
            None => Operands::new(at(input), at(output)),
        };
        operands.weight = weight.map(at);
        operands.bias = bias.map(at);
        operands = match (residual, residual_out) {
            (Some(residual), Some(sum)) if residual != sum => operands.residual(at(residual), at(sum)),
            (Some(residual), Some(_)) => operands.residual_in_place(at(residual)),
            (Some(residual), None) if onto.is_none() => operands.then_add(at(residual)),
            _ => operands,
        };
        let prepared = self.gpu.norm(*spec)?.prepare_with(&operands, self.case.rows, force).await?;
        let mut encoder = new_encoder(self.gpu).await?;
        prepared.record_in(&mut encoder, self.rows)?;
        let written = [Some((output, spec.output_dtype())), residual_out.zip(spec.residual_out_dtype())];
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
        let [output, residual_out] = written.map(|written| {
            let ((image, start), dtype) = written?;
            Some(self.take_rows(&images[image].bytes, &mut after[image], dtype, start, arrangement.gap))
        });
        for (number, (image, after)) in images.iter().zip(&after).enumerate() {
            if let Some(byte) = image.bytes.iter().zip(after).position(|(before, after)| before != after) {
                return Ok(Err(format!("byte {byte} of buffer {number}, beside the outputs, was written")));
            }
        }
        let nothing = || Values::round_from(spec.output_dtype(), &[]);
        Ok(Ok(Outputs::new(output.unwrap_or_else(nothing)).residual_out(residual_out)))
    }

    /// Takes an output's rows out of a buffer as it was read back, and puts in their place what was there before.
    fn take_rows(&self, before: &[u8], after: &mut [u8], dtype: DType, start: u64, gap: u64) -> Values {
        let row = (self.case.spec.hidden * dtype.size()) as usize;
        let stride = row + (gap * dtype.size()) as usize;
        let mut rows = Vec::with_capacity(self.rows as usize * row);
        for index in 0..self.rows as usize {
            let first = start as usize + index * stride;
            rows.extend_from_slice(&after[first..first + row]);
            after[first..first + row].copy_from_slice(&before[first..first + row]);
        }
        Values::from_bytes(dtype, &rows)
    }
}
