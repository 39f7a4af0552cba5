//! How a norm would be computed.

pub mod host;
mod placement;
mod translate;

use std::io::{IsTerminal, stdout};
use std::process::ExitCode;

use clap::Args;
use serde_json::json;
use wgpu_rmsnorm::{Caps, DType, NormSpec, Plan, Preset, Tuning};

use crate::Context;
use crate::definition::{Definition, Gradients};
use crate::failure::Failure;
use crate::forced::Forced;
use crate::output::{note, raw, say};
use placement::Place;
use translate::Target;

/// Options of `explain`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    wgpu-rmsnorm explain 512x4096 --dtype bf16\n  \
    wgpu-rmsnorm explain 1x4096 --dtype f16 --webgpu-limits --wgsl > norm.wgsl\n  \
    wgpu-rmsnorm explain 512x5120 --dtype bf16 --query-heads 32 --key-heads 8 --in-place\n  \
    wgpu-rmsnorm explain 512x4096 --dtype f16 --residual --rstd --quantized i8\n  \
    wgpu-rmsnorm explain 4096x4096 --dtype bf16 --backward --saved-rstd\n  \
    wgpu-rmsnorm explain 8x4096 --place input=arena@0 --place output=arena@262144:8192 --json\n\n\
    How to read the text: docs/cookbook.md. eps is a number in the uniform and has no say in a plan; where none is given it is 1e-5.")]
pub struct Options {
    /// The input's shape, such as 2x512x4096: the last dimension is normalised
    #[arg(value_parser = shape)]
    shape: Shape,
    #[command(flatten)]
    definition: Definition,
    /// Without a weight
    #[arg(long)]
    no_weight: bool,
    /// With a bias, also where the preset has none
    #[arg(long)]
    bias: bool,
    /// Without a bias, also where the preset has one
    #[arg(long, conflicts_with = "bias")]
    no_bias: bool,
    /// With a residual that is added to the input, and the sum written back (--add-after: to the result)
    #[arg(long)]
    residual: bool,
    /// With a gate, on the input (--gate-input) or on the result (--gate-output)
    #[arg(long)]
    gate: bool,
    /// The scale of each row (of each group) is written beside the output
    #[arg(long)]
    rstd: bool,
    /// The rows are parts of longer ones, of which only the statistics are written
    #[arg(long, conflicts_with_all = ["apply", "weight_dtype", "bias"])]
    stats: bool,
    /// The rows are parts of longer ones, scaled by the statistics of so many parts
    #[arg(long, value_name = "PARTS", requires = "total")]
    apply: Option<u64>,
    /// Channels of all parts together
    #[arg(long, value_name = "CHANNELS", requires = "apply")]
    total: Option<u64>,
    #[command(flatten)]
    gradients: Gradients,
    /// The output replaces the input, and the sum the residual; in a backward pass, the output the gradient that comes in
    #[arg(long)]
    in_place: bool,
    /// Where an operand lies: OPERAND=BUFFER@BYTE or OPERAND=BUFFER@BYTE:STRIDE, the stride in elements; operands with the same
    /// BUFFER share it. Operands: input, weight, bias, residual, gate, statistics, residual_out, rstd, scale, output; in a backward
    /// pass saved_rstd, grad_output, grad_residual_out, grad_gate, grad_weight and grad_bias too
    #[arg(long = "place", value_name = "PLACE", conflicts_with = "in_place")]
    places: Vec<Place>,
    /// Plan for what every WebGPU device offers, not for an adapter
    #[arg(long)]
    webgpu_limits: bool,
    #[command(flatten)]
    forced: Forced,
    /// Print the shader instead
    #[arg(long)]
    wgsl: bool,
    /// Print the shader in another language instead
    #[arg(long, value_enum, conflicts_with = "wgsl")]
    target: Option<Target>,
}

/// Rows and the length of a row.
#[derive(Debug, Clone)]
struct Shape(Vec<u64>);

fn shape(text: &str) -> Result<Shape, String> {
    let dimensions: Result<Vec<u64>, _> = text.split('x').map(str::parse).collect();
    dimensions.map(Shape).map_err(|_| "expected whole numbers with x between them, such as 512x4096".into())
}

/// eps has no say in a plan: it is a number in the uniform.
const EPS: f32 = 1e-5;

/// Prints a plan.
pub fn run(options: &Options, context: &Context) -> Result<ExitCode, Failure> {
    let report = context.json.report()?;
    let (preset, eps) = options.definition.resolve_or(EPS)?;
    let spec = spec(options, preset, eps)?;
    let rows = spec.rows_of(&options.shape.0)?;
    let (device, mut caps, tuning) = device(options, context)?;
    // Other languages are for other drivers than the one that wants 64-bit words; GLSL has none.
    caps.long_words &= matches!(options.target, None | Some(Target::Spirv));
    let layout = placement::layout(&spec, rows, &options.places, options.in_place)?;
    let force = options.forced.force();
    let plan = match &tuning {
        None => Plan::with(&spec, &caps, &layout, rows, force)?,
        Some(tuning) => Plan::tuned(&spec, &caps, &layout, rows, force, tuning)?,
    };
    let shader = plan.shader();
    let translated = options.target.map(|target| translate::translate(&shader, target)).transpose()?;

    if report.wants_text() {
        match &translated {
            _ if options.wgsl => say!("{}", shader.wgsl.trim_end()),
            None => say!("{device}: {caps}\n{plan}"),
            Some(_) if options.target == Some(Target::Spirv) && stdout().is_terminal() => {
                return Err(Failure::new("SPIR-V is binary, and standard output is a terminal", "send it to a file: > norm.spv"));
            }
            Some(bytes) => raw(bytes),
        }
    }
    let translation = translated.map(|bytes| translate::to_json(options.target, &bytes));
    report.write(&json!({
        "device": device,
        "caps": host::caps(&caps),
        "norm": host::norm(&spec, preset),
        "plan": host::plan(&plan),
        "first_kernel": plan.first_shader().map(|first| host::kernel(&plan, &first)),
        "kernel": host::kernel(&plan, &shader),
        "bindings": host::bindings(&plan, &plan.bindings, &shader),
        "dispatches": host::dispatches(&plan, &shader),
        "last": host::last(&plan),
        "bytes_moved": plan.bytes(rows),
        "held": host::held(&plan),
        "translation": translation,
    }))?;
    Ok(ExitCode::SUCCESS)
}

fn spec(options: &Options, preset: Preset, eps: f32) -> Result<NormSpec, Failure> {
    let definition = &options.definition;
    let beside = &definition.beside;
    let hidden = options.shape.0.last().copied().unwrap_or(0);
    let input = definition.dtype.unwrap_or(DType::F32);
    let channel = definition.weight_dtype.unwrap_or(input);
    let mut spec = preset.spec(hidden, eps).input(input);
    spec.weight = (!options.no_weight).then_some(channel);
    spec.bias = (options.bias || spec.bias.is_some() && !options.no_bias).then_some(channel);
    spec.rstd = options.rstd;
    if options.stats {
        spec = spec.stats();
    }
    if let (Some(total), Some(parts)) = (options.total, options.apply) {
        spec = spec.apply(total, parts);
    }
    let residual = (options.residual || beside.residual_dtype.is_some()).then_some(beside.residual_dtype.unwrap_or(input));
    let gate = (options.gate || beside.speaks_of_a_gate()).then_some(beside.gate_dtype.unwrap_or(input));
    let spec = options.gradients.complete(definition.complete(spec, residual, gate)?);
    spec.validate()?;
    Ok(spec)
}

/// The device that is planned for, and the record that was measured on it.
fn device(options: &Options, context: &Context) -> Result<(String, Caps, Option<Tuning>), Failure> {
    let defaults = ("Any WebGPU device".to_owned(), Caps::webgpu_defaults(), None);
    if options.webgpu_limits {
        return Ok(defaults);
    }
    if context.choice.adapters()?.is_empty() {
        note("there is no adapter here: this is the plan for what every WebGPU device offers");
        return Ok(defaults);
    }
    let (adapter, gpu) = context.choice.gpu()?;
    Ok((adapter.to_string(), *gpu.caps(), gpu.tuning().cloned()))
}
