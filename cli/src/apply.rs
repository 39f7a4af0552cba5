//! The rows of a file, normalised into another.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use pollster::block_on;
use serde_json::json;
use wgpu_rmsnorm::verify::{self, Outcome};
use wgpu_rmsnorm::{AddOrder, Caps, DType, Inputs, Layout, Norm, NormSpec, Plan, Slot, Values};

use crate::definition::Definition;
use crate::failure::{Failure, WRONG};
use crate::output::{note, number, say};
use crate::tensor::{Format, Location, Sink, Source};
use crate::whole_file::is_same;
use crate::{Context, outcome, progress, table};

/// Options of `apply`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    wgpu-rmsnorm apply x.npy -o y.npy --eps 1e-6\n  \
    wgpu-rmsnorm apply x.npy -o y.npy --weight model.safetensors:model.norm.weight --config config.json --check\n\n\
    The last dimension is normalised; all others are rows. Rows go through the GPU in batches, so that files may be larger \
    than memory: the results are the same bits. The output appears when it is whole. A .npy file has no type for bfloat16: \
    such a file is read with --dtype bf16, and read back in Python with numpy.load(file).view(ml_dtypes.bfloat16).")]
pub struct Options {
    /// What is normalised: FILE.npy or FILE.safetensors:TENSOR
    input: Location,
    /// Where the result goes; the end of its name says in which format
    #[arg(short, long, value_name = "FILE")]
    output: Location,
    /// One factor a channel, from a file of either kind
    #[arg(long, value_name = "FILE")]
    weight: Option<Location>,
    /// One summand a channel, from a file of either kind
    #[arg(long, value_name = "FILE")]
    bias: Option<Location>,
    /// Rows that are added to the input (--add-after: to the result), from a file of either kind
    #[arg(long, value_name = "FILE")]
    residual: Option<Location>,
    /// Where the sum with the input goes, the new residual
    #[arg(long, value_name = "FILE", requires = "residual", conflicts_with = "add_after")]
    residual_out: Option<Location>,
    /// Compare every element with the float64 reference; a wrong result is not written
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    definition: Definition,
}

/// Bytes of input that go through the GPU at a time.
const BATCH_BYTES: u64 = 32 << 20;

/// The name of the sum in a .safetensors file.
const RESIDUAL: &str = "residual_out";
/// The name of a tensor in a .safetensors file that came from a file without names.
const UNNAMED: &str = "output";

impl Options {
    /// Every file that is read or written, but for reports.
    fn files(&self) -> impl Iterator<Item = &Path> {
        let read = [Some(&self.input), self.weight.as_ref(), self.bias.as_ref(), self.residual.as_ref()];
        let written = [Some(&self.output), self.residual_out.as_ref()];
        read.into_iter().chain(written).flatten().map(|location| location.file.as_path()).chain(self.definition.config())
    }
}

/// What is done, ready to be done.
struct Job {
    input: Source,
    weight: Option<Values>,
    bias: Option<Values>,
    residual: Option<Source>,
    spec: NormSpec,
    rows: u64,
}

/// Normalises a file.
pub fn run(options: &Options, context: &Context) -> Result<ExitCode, Failure> {
    let report = context.json.report()?;
    report.keep_off(options.files())?;
    let (preset, eps) = options.definition.resolve_with_eps()?;
    let (adapter, gpu) = context.choice.gpu()?;
    let mut job = Job::new(options, gpu.caps(), |hidden| preset.spec(hidden, eps))?;
    let norm = gpu.norm(job.spec)?;
    let output = job.spec.output_dtype();
    let name = job.input.name.clone().unwrap_or(UNNAMED.into());
    let force = context.json.force;
    let mut sink = Sink::create(&options.output, &name, output, &job.input.shape, force)?;
    let mut sum_sink = match (&options.residual_out, job.spec.residual) {
        (Some(location), _) if is_same(&location.file, &options.output.file) => {
            return Err(Failure::new("--residual-out: this file is the output's", "choose another file"));
        }
        (Some(location), Some(residual)) => Some(Sink::create(location, RESIDUAL, residual.dtype, &job.input.shape, force)?),
        _ => None,
    };

    let what = format!("{} rows of {} {}", job.rows, job.spec.hidden, job.spec.input);
    if report.wants_text() {
        let rounded = if job.input.is_rounded() { ", rounded from the file's own dtype" } else { "" };
        let weight = job.spec.weight.map_or("no weight".into(), |dtype| format!("{dtype} weight"));
        let bias = job.spec.bias.map_or(String::new(), |dtype| format!(", {dtype} bias"));
        say!("Input    {}: {what}{rounded}", options.input);
        if let (Some(location), Some(residual)) = (&options.residual, job.spec.residual) {
            let how = match residual.order {
                AddOrder::After => "to the result",
                _ if residual.rounded => "to the input, the sum normalised as it is written back",
                _ => "to the input, the sum normalised before it is rounded",
            };
            say!("Added    {location}: {} residual {how}", residual.dtype);
        }
        say!("Norm     {preset}, eps {eps:e}, {weight}{bias}, output {output}");
        say!("Adapter  {adapter}");
        if options.weight.is_none() && options.definition.config().is_some() {
            note("without --weight the rows are normalised and not weighted");
        }
    }
    let start = Instant::now();
    let checked = job.run(&norm, &mut sink, sum_sink.as_mut(), options.check)?;
    let right = checked.as_ref().is_none_or(Outcome::passed);
    if right {
        // The sum last: it may replace the residual, which is needed again where anything fails.
        sink.commit()?;
        sum_sink.map(Sink::commit).transpose()?;
    }
    let seconds = start.elapsed().as_secs_f64();

    let bytes = job.rows * job.spec.hidden * output.size();
    if report.wants_text() {
        if let Some(outcome) = &checked {
            say!("Checked  {}", outcome::verdict(outcome, output));
        }
        match right {
            true => say!("Wrote    {}: {} in {}, files included", options.output, table::bytes(bytes), table::time(seconds)),
            false => say!("Wrote    nothing: `wgpu-rmsnorm verify` tells more about this driver"),
        }
    }
    if right && output == DType::BF16 && options.output.format == Format::Npy {
        note(format_args!("read it in Python with numpy.load({:?}).view(ml_dtypes.bfloat16)", options.output.to_string()));
    }
    report.write(&json!({
        "input": options.input.to_string(),
        "output": options.output.to_string(),
        "residual_out": options.residual_out.as_ref().map(ToString::to_string),
        "written": right,
        "shape": job.input.shape,
        "preset": preset.name(),
        "eps": number(eps),
        "dtypes": {
            "input": job.spec.input.name(),
            "weight": job.spec.weight.map(DType::name),
            "bias": job.spec.bias.map(DType::name),
            "residual": job.spec.residual.map(|residual| residual.dtype.name()),
            "output": output.name(),
        },
        "adapter": adapter.to_string(),
        "seconds": seconds,
        "check": checked.as_ref().map(outcome::json),
    }))?;
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::from(WRONG) })
}

impl Job {
    fn new(options: &Options, caps: &Caps, spec: impl Fn(u64) -> NormSpec) -> Result<Self, Failure> {
        let Definition { dtype, weight_dtype, residual_dtype, .. } = options.definition;
        let input = Source::open(&options.input, dtype, "--dtype")?;
        let hidden = input.shape.last().copied().unwrap_or(0);
        let channels = |location: &Option<Location>| {
            location.as_ref().map(|location| Source::open(location, weight_dtype, "--weight-dtype")).transpose()
        };
        let (weight, bias) = (channels(&options.weight)?, channels(&options.bias)?);
        if weight_dtype.is_some() && weight.is_none() && bias.is_none() {
            return Err(Failure::new("--weight-dtype: there is neither weight nor bias", "leave it out, or pass a --weight"));
        }
        let mut spec = spec(hidden).input(input.dtype);
        spec.weight = weight.as_ref().map(|weight| weight.dtype);
        spec.bias = bias.as_ref().map(|bias| bias.dtype);
        let residual = options.residual.as_ref().map(|location| Source::open(location, residual_dtype, "--residual-dtype"));
        let residual = residual.transpose()?;
        if let (Some(residual), Some(location)) = (&residual, &options.residual) {
            if residual.shape != input.shape {
                let problem = format!("the residual has shape {:?}, and the input {:?}", residual.shape, input.shape);
                return Err(Failure::file(&location.file, problem, "pass a residual of the input's shape"));
            }
            if options.residual_out.is_none() && !options.definition.add_after {
                let remedy =
                    "say where its sum with the input goes with --residual-out, or add it to the result with --add-after";
                return Err(Failure::new("--residual: its sum has nowhere to go", remedy));
            }
        }
        let spec = options.definition.complete(spec, residual.as_ref().map(|residual| residual.dtype))?;
        // A shape without a last dimension says so better than a hidden size of 0 would.
        let valid = if input.shape.is_empty() { Ok(()) } else { spec.validate() };
        let in_file = |error| Failure::file(&options.input.file, error, format_args!("its shape is {:?}", input.shape));
        let rows = valid.and_then(|()| spec.rows_of(&input.shape)).map_err(in_file)?;
        // What no kernel can do is better known before it is read.
        Plan::new(&spec, caps, &Layout::contiguous(&spec, rows.min(1)), rows.min(1)).map_err(in_file)?;
        let read = |source: Option<Source>, operand| source.map(|source| source.read_channels(operand, hidden)).transpose();
        let (weight, bias) = (read(weight, "weight")?, read(bias, "bias")?);
        Ok(Self { input, weight, bias, residual, spec, rows })
    }

    /// Reads, computes, checks and writes a batch of rows after the other.
    fn run(
        &mut self,
        norm: &Norm,
        sink: &mut Sink,
        mut sum_sink: Option<&mut Sink>,
        check: bool,
    ) -> Result<Option<Outcome>, Failure> {
        let row_bytes = self.spec.hidden * self.spec.input.size();
        let batch = (BATCH_BYTES / row_bytes).max(1);
        let mut outcome = check.then(Outcome::default);
        let bar = progress::of_bytes(self.rows * row_bytes);
        let mut left = self.rows;
        while left > 0 {
            let rows = left.min(batch);
            let values = self.input.read(rows * self.spec.hidden)?;
            let residual = self.residual.as_mut().map(|source| source.read(rows * self.spec.hidden)).transpose()?;
            let inputs = Inputs::new(&values)
                .with(Slot::Residual, residual.as_ref().map(Values::as_slice))
                .with(Slot::Weight, self.weight.as_ref().map(Values::as_slice))
                .with(Slot::Bias, self.bias.as_ref().map(Values::as_slice));
            let result = block_on(norm.run_all(&inputs))?;
            if let Some(outcome) = &mut outcome {
                outcome.merge(&verify::check_all(&self.spec, &inputs, &result)?);
            }
            if let (Some(sink), Some(sum)) = (&mut sum_sink, result.get(Slot::ResidualOut)) {
                sink.write(sum.as_slice().bytes())?;
            }
            sink.write(result.output().as_slice().bytes())?;
            left -= rows;
            bar.inc(rows * row_bytes);
        }
        bar.finish_and_clear();
        Ok(outcome)
    }
}
