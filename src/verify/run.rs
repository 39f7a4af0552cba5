//! Running a case on a device.

use super::beside::check_each;
use super::case::{Arrangement, Case, Lowered, Twin};
use super::data::Data;
use super::execute::Run;
use super::model::Outcome;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::gpu::Gpu;
use crate::inputs::Inputs;
use crate::outputs::Outputs;
use crate::plan::Force;
use crate::shader::Shader;
use crate::slot::Slot;
use crate::values::Values;

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
    /// The comparison with the truth, of all that was written.
    pub outcome: Outcome,
    /// The same of each operand by itself, with its dtype.
    pub operands: Vec<(Slot, DType, Outcome)>,
}

/// Compiled pipelines that are worth keeping from case to case: thousands of them take gigabytes.
pub const PIPELINES_TO_KEEP: usize = 128;

/// Runs one case. Errors of the library are failures of the case, but for a device that is too small, which is a reason to skip.
pub async fn run_case(gpu: &Gpu, case: &Case) -> CaseReport {
    let mut each = Vec::new();
    let status = match evaluate(gpu, case, &mut each).await {
        Ok(None) => Status::Passed,
        Ok(Some(complaint)) => Status::Failed(complaint),
        Err(error @ (Error::OutOfMemory { .. } | Error::Limit(_))) if !case.lowered.is_lower() => {
            Status::Skipped(error.to_string())
        }
        Err(error) => Status::Broken(error.to_string()),
    };
    let spec = &case.spec;
    let mut outcome = Outcome::default();
    each.iter().for_each(|(_, of_one)| outcome.merge(of_one));
    let operands = each.into_iter().filter_map(|(slot, of_one)| Some((slot, spec.dtype_of(slot)?, of_one))).collect();
    CaseReport { kind: case.kind, name: case.name.clone(), output: spec.output_dtype(), status, outcome, operands }
}

/// The texts of the kernels that a case is run by on this device, for a compiler of shaders. Those of the run that it is compared
/// with are left out.
///
/// # Errors
/// Those of [`Norm::plan`](crate::Norm::plan): the case would not run.
pub fn kernels(gpu: &Gpu, case: &Case) -> Result<Vec<Shader>> {
    let data = Data::beside(&case.spec, case.rows, case.regime, case.beside, case.weights);
    let special = gpu.with_caps(case.lowered.apply(gpu.caps()));
    Run { gpu: &special, case, data: &data, rows: case.rows }.kernels(case.arrangement, case.force)
}

/// `None` where the case passed, else what is wrong.
async fn evaluate(gpu: &Gpu, case: &Case, each: &mut Vec<(Slot, Outcome)>) -> Result<Option<String>> {
    let data = Data::beside(&case.spec, case.rows, case.regime, case.beside, case.weights);
    let rows = case.recorded.unwrap_or(case.rows);
    let special = gpu.with_caps(case.lowered.apply(gpu.caps()));
    let run = Run { gpu: &special, case, data: &data, rows };
    let got = match run.execute(case.arrangement, case.force).await? {
        Ok(values) => values,
        Err(complaint) => return Ok(Some(complaint)),
    };
    let inputs = data.inputs().rows(&case.spec, 0..rows);
    *each = check_each(&case.spec, &inputs, &got)?;
    if let Some((slot, outcome)) = each.iter().find(|(_, outcome)| !outcome.passed()) {
        return Ok(Some(beyond(*slot, outcome)));
    }
    if let Some(most) = case.most_misrounded {
        let (misrounded, elements) = each.iter().fold((0, 0), |(m, e), (_, of)| (m + of.misrounded, e + of.elements));
        let share = misrounded as f64 / elements as f64;
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

fn beyond(slot: Slot, outcome: &Outcome) -> String {
    let Outcome { wrong, elements, .. } = outcome;
    let first = outcome.mismatches.first().map_or_else(String::new, |first| {
        format!(", the first at {}: {:e} where {:e} is right, within {:e}", first.index, first.got, first.truth, first.allowed)
    });
    format!("{slot}: {wrong} of {elements} elements beyond the error model{first}")
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
