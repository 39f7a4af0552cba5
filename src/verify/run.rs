//! Running a case on a device.

use super::case::{Arrangement, Case, Lowered, Twin};
use super::data::{Data, Regime};
use super::model::{Outcome, check};
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::gpu::{Gpu, Operand, Operands, filled_buffer, new_encoder, read_into};
use crate::inputs::Inputs;
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
    *outcome = check(&case.spec, &inputs, got.as_slice())?;
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
                let size = case.spec.hidden as usize * case.spec.output_dtype().size() as usize;
                let start = row as usize * size;
                if got.as_slice().bytes().get(start..start + size) != Some(alone.as_slice().bytes()) {
                    return Ok(Some(format!("row {row} has other bits in the batch than alone")));
                }
            }
            Ok(None)
        }
    }
}

fn differs(got: &Values, other: &Result<Values, String>, whose: &str) -> Option<String> {
    let other = match other {
        Ok(values) => values,
        Err(complaint) => return Some(format!("{whose}: {complaint}")),
    };
    let size = got.as_slice().dtype().size() as usize;
    let (a, b) = (got.as_slice().bytes(), other.as_slice().bytes());
    let first = a.chunks(size).zip(b.chunks(size)).position(|(a, b)| a != b)?;
    Some(format!("element {first} has other bits than in {whose}"))
}

fn first_rows<'a>(data: &'a Data, case: &Case, rows: u64) -> Inputs<'a> {
    let mut inputs = data.inputs();
    let end = (rows * case.spec.hidden) as usize;
    inputs.input = match inputs.input {
        Slice::F32(v) => Slice::F32(&v[..end]),
        Slice::F16(v) => Slice::F16(&v[..end]),
        Slice::BF16(v) => Slice::BF16(&v[..end]),
    };
    inputs
}

async fn row_alone(gpu: &Gpu, case: &Case, data: &Data, row: u64) -> Result<Values> {
    let size = (case.spec.hidden * case.spec.input.size()) as usize;
    let start = row as usize * size;
    let input = Values::from_bytes(case.spec.input, &data.input.as_slice().bytes()[start..start + size]);
    let mut inputs = data.inputs();
    inputs.input = input.as_slice();
    gpu.norm(case.spec)?.run_values(&inputs).await
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
    /// Executes and returns the output, or what was written beside it.
    async fn execute(&self, arrangement: Arrangement, force: Force) -> Result<Result<Values, String>> {
        let (spec, data) = (&self.case.spec, self.data);
        let (hidden, output_dtype) = (spec.hidden, spec.output_dtype());
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
        let weight = data.weight.as_ref().map(|w| place(Some(w.as_slice()), w.as_slice().dtype(), 1, dense));
        let bias = data.bias.as_ref().map(|b| place(Some(b.as_slice()), b.as_slice().dtype(), 1, dense));
        let input = place(Some(data.input.as_slice()), spec.input, self.case.rows, arrangement);
        let output = match arrangement.in_place {
            true => input,
            false => place(None, output_dtype, self.case.rows, arrangement),
        };
        let last = &mut images[output.0].bytes;
        last.resize((last.len() + GUARD as usize).next_multiple_of(16), sentinel);

        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let mut buffers = Vec::new();
        for image in &images {
            buffers.push(filled_buffer(self.gpu.device(), "case", usage, &image.bytes).await?);
        }
        let at =
            |(image, offset): (usize, u64)| Operand::new(&buffers[image]).offset(offset).row_stride(hidden + arrangement.gap);
        let mut operands =
            if arrangement.in_place { Operands::in_place(at(input)) } else { Operands::new(at(input), at(output)) };
        operands.weight = weight.map(at);
        operands.bias = bias.map(at);
        let prepared = self.gpu.norm(*spec)?.prepare_with(&operands, self.case.rows, force).await?;
        let mut encoder = new_encoder(self.gpu).await?;
        prepared.record_in(&mut encoder, self.rows)?;
        let image = &images[output.0].bytes;
        let mut after = Vec::with_capacity(image.len());
        read_into(self.gpu, encoder, &buffers[output.0], 0..image.len() as u64, &mut after).await?;
        Ok(self.extract(image, &mut after, output.1, arrangement.gap))
    }

    /// Takes the output's rows out of a buffer as it was read back, and holds everything else to what it was before.
    fn extract(&self, before: &[u8], after: &mut [u8], start: u64, gap: u64) -> Result<Values, String> {
        let dtype = self.case.spec.output_dtype();
        let row = (self.case.spec.hidden * dtype.size()) as usize;
        let stride = row + (gap * dtype.size()) as usize;
        let mut rows = Vec::with_capacity(self.rows as usize * row);
        for index in 0..self.rows as usize {
            let first = start as usize + index * stride;
            rows.extend_from_slice(&after[first..first + row]);
            after[first..first + row].copy_from_slice(&before[first..first + row]);
        }
        match before.iter().zip(after.iter()).position(|(b, a)| a != b) {
            Some(byte) => Err(format!("byte {byte} beside the output, which starts at {start}, was written")),
            None => Ok(Values::from_bytes(dtype, &rows)),
        }
    }
}
