//! The other members of the family on the same activations, one line each.

use std::time::Instant;

use pollster::block_on;
use serde_json::{Value, json};
use wgpu_rmsnorm::{BySlot, Caps, DType, Gpu, Inputs, Layout, NormSpec, Outputs, Plan, Preset, Slot, Values, reference, verify};

use crate::activations::{Layer, Recording};
use crate::explain::host;
use crate::failure::Failure;
use crate::operands;
use crate::output::{BAD, GOOD, say};
use crate::{table, timing};

/// A norm, and what it is computed from.
struct Member {
    name: &'static str,
    preset: Preset,
    spec: NormSpec,
    values: BySlot<Values>,
}

/// A member, done.
pub struct Done {
    member: Member,
    rows: u64,
    /// None where the reference itself did the work.
    ulp: Option<f64>,
    passed: bool,
    seconds: f64,
    bytes: u64,
}

impl Done {
    /// Whether everything that was written is within the error model.
    pub fn passed(&self) -> bool {
        self.passed
    }

    /// For machines.
    pub fn json(&self) -> Value {
        json!({
            "member": self.member.name,
            "norm": host::norm(&self.member.spec, self.member.preset),
            "rows": self.rows,
            "reference_ulp": self.ulp,
            "passed": self.passed,
            "seconds": self.seconds,
            "bytes": self.bytes,
        })
    }
}

/// Computes every member.
pub fn run(gpu: Option<&Gpu>, recording: &Recording) -> Result<Vec<Done>, Failure> {
    members(recording)?.into_iter().map(|member| compute(gpu, member)).collect()
}

/// Prints one table.
pub fn print(all: &[Done], on_gpu: bool) {
    say!("\nThe family on the same activations\n");
    let mut rows = table::new(&["member", "dtypes", "ULP", "time", "GB/s", "moved"], 2);
    for done in all {
        let spec = &done.member.spec;
        rows.add_row([
            done.member.name.to_owned(),
            format!("{} -> {}", spec.input, spec.output_dtype()),
            done.ulp.map_or("-".into(), |ulp| format!("{ulp:.2}")),
            table::time(done.seconds),
            format!("{:.2}", done.bytes as f64 / done.seconds / 1e9),
            table::bytes(done.bytes),
        ]);
    }
    table::print(&rows);
    say!("\nULP: the largest distance to the float64 reference, of codes in steps. Moved: every operand once. What");
    say!("the model does not have (a residual, a gate, a bias) is another of its recorded layers.");
    let wrong: Vec<_> = all.iter().filter(|done| !done.passed).map(|done| done.member.name).collect();
    match wrong.is_empty() {
        true if on_gpu => say!("{GOOD}All {} members are within the error model.{GOOD:#}", all.len()),
        true => say!("{GOOD}All {} members of the CPU reference are within the error model.{GOOD:#}", all.len()),
        false => say!("{BAD}Beyond the error model:{BAD:#} {}", wrong.join("; ")),
    }
}

/// The dtype of the activations.
const DTYPE: DType = DType::F16;

/// The members, and their operands: whole rows first, then half of each row as a shard of two.
fn members(recording: &Recording) -> Result<Vec<Member>, Failure> {
    let [first, second, third, ..] = recording.layers.as_slice() else {
        return Err(Failure::new("the recording in this program is too short", "build it again"));
    };
    let (hidden, eps) = (first.shape[1], recording.eps);
    let of = |preset: Preset| preset.spec(hidden, eps).dtype(DTYPE);
    let codes = of(Preset::Torch).add_residual(DType::F32);
    let list = [
        ("LayerNorm", Preset::LayerNorm, of(Preset::LayerNorm)),
        ("residual added first, rstd written", Preset::Llama, of(Preset::Llama).add_residual(DType::F32).rstd()),
        ("residual added to the result", Preset::Gemma, of(Preset::Gemma).then_add_residual(DType::F32)),
        ("gate on the input, 4 groups", Preset::Llama, of(Preset::Llama).groups(4).gate_input(DTYPE)),
        ("gate on the result", Preset::Llama, of(Preset::Llama).gate_output(DTYPE)),
        ("6 query and 2 key heads", Preset::Llama, of(Preset::Llama).query_and_key_heads(6, 2)),
        ("statistic of a quarter of the row", Preset::Torch, of(Preset::Torch).partial(hidden / 4)),
        ("residual added first, i8 codes", Preset::Torch, codes.quantized(DType::I8)),
        ("residual added first, f8e4m3 codes", Preset::Torch, codes.quantized(DType::F8E4M3)),
    ];
    let mut members: Vec<Member> = list
        .into_iter()
        .map(|(name, preset, spec)| {
            let mut values = BySlot::default();
            for slot in Slot::ALL {
                let Some(dtype) = spec.dtype_of(slot) else { continue };
                let recorded = match slot {
                    Slot::Input => &first.input,
                    Slot::Weight => &first.weight,
                    Slot::Bias => &second.weight,
                    Slot::Residual => &second.input,
                    Slot::Gate => &third.input,
                    _ => continue,
                };
                let length = if slot.is_by_row() { recorded.len() } else { spec.length_of(slot) as usize };
                values.set(slot, Some(Values::round_from(dtype, &recorded[..length.min(recorded.len())])));
            }
            Member { name, preset, spec, values }
        })
        .collect();
    members.extend(shards(first, eps)?);
    Ok(members)
}

/// Half of each row: its statistics, and the result by those of both halves.
fn shards(layer: &Layer, eps: f32) -> Result<[Member; 2], Failure> {
    let [_, hidden] = layer.shape;
    let part = hidden / 2;
    let half = |first: u64| -> Values {
        let rows = layer.input.chunks_exact(hidden as usize);
        let values: Vec<f64> = rows.flat_map(|row| &row[first as usize..(first + part) as usize]).copied().collect();
        Values::round_from(DTYPE, &values)
    };
    let spec = Preset::Torch.spec(part, eps).dtype(DTYPE);
    let (left, right) = (half(0), half(part));
    let found = |half: &Values| reference::stats(&spec.stats(), &Inputs::new(half));
    let (of_left, of_right) = (found(&left)?, found(&right)?);
    let both: Vec<f64> = of_left.chunks(2).zip(of_right.chunks(2)).flat_map(|(l, r)| [l, r].concat()).collect();
    let mut stats = BySlot::default();
    stats.set(Slot::Input, Some(left));
    let mut apply = stats.clone();
    apply.set(Slot::Weight, Some(Values::round_from(DTYPE, &layer.weight[..part as usize])));
    apply.set(Slot::Statistics, Some(Values::round_from(DType::F32, &both)));
    let member = |name, spec, values| Member { name, preset: Preset::Torch, spec, values };
    Ok([
        member("statistics of half a row", spec.stats(), stats),
        member("half a row, by the statistics of both", spec.apply(hidden, 2), apply),
    ])
}

fn compute(gpu: Option<&Gpu>, member: Member) -> Result<Done, Failure> {
    let spec = &member.spec;
    let inputs = operands::inputs(&member.values);
    let rows = inputs.validate(spec)?;
    let caps = gpu.map_or(Caps::webgpu_defaults(), |gpu| *gpu.caps());
    let bytes = Plan::new(spec, &caps, &Layout::contiguous(spec, rows), rows)?.bytes(rows);
    let (outputs, seconds) = match gpu {
        Some(gpu) => {
            let norm = gpu.norm(*spec)?;
            (block_on(norm.run_all(&inputs))?, timing::seconds(&norm, &inputs, rows)?)
        }
        None => {
            let start = Instant::now();
            (on_cpu(spec, &inputs)?, start.elapsed().as_secs_f64())
        }
    };
    let outcome = verify::check_all(spec, &inputs, &outputs)?;
    let (passed, ulp) = (outcome.passed(), gpu.map(|_| outcome.worst_ulp));
    Ok(Done { rows, ulp, passed, seconds, bytes, member })
}

/// Everything that the norm writes, by the reference.
fn on_cpu(spec: &NormSpec, inputs: &Inputs<'_>) -> Result<Outputs, Failure> {
    let single = |values: &[f64]| Some(Values::round_from(DType::F32, values));
    let dtype = spec.output_dtype();
    let (output, scales) = match spec.quantized {
        Some(_) => reference::quantized(spec, inputs).map(|(codes, scales)| (codes, Some(scales)))?,
        None if spec.operation() == "stats" => (reference::stats(spec, inputs)?, None),
        None => (reference::norm(spec, inputs)?, None),
    };
    let mut outputs = Outputs::new(Values::round_from(dtype, &output));
    if let (Some(scales), Some(_)) = (scales, spec.dtype_of(Slot::Scale)) {
        outputs = outputs.with(Slot::Scale, single(&scales));
    }
    if spec.residual_out_dtype().is_some() {
        outputs = outputs.with(Slot::ResidualOut, Some(reference::residual_sum(spec, inputs)?));
    }
    if spec.rstd {
        outputs = outputs.with(Slot::Rstd, single(&reference::rstd(spec, inputs)?));
    }
    Ok(outputs)
}
