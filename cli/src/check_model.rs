//! Every RMSNorm of a checkpoint, with its own weights.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use pollster::block_on;
use serde_json::json;
use wgpu_rmsnorm::verify::{self, Data, Outcome, Regime, Weights};
use wgpu_rmsnorm::{DType, Gpu, NormSpec, Preset};

use crate::checkpoint::{Checkpoint, Norms, Weight, activation_dtype};
use crate::config::ModelConfig;
use crate::definition::{dtype_parser, eps, preset_parser};
use crate::failure::{Failure, WRONG};
use crate::output::{BAD, GOOD, harmless, note, number, say};
use crate::{Context, families, outcome, progress, table, timing};

/// Options of `check-model`.
#[derive(Debug, Args)]
#[command(
    after_help = "Needs model.safetensors (or a sharded model.safetensors.index.json) and config.json. Only the norms' weights \
    are read. Activations are random (what a model has: normal values, some channels 40 times as large) and adversarial (zeros, \
    subnormals, the largest numbers, one of them among tiny ones, random bits, NaN and infinity)."
)]
pub struct Options {
    /// The checkpoint: its folder, its .safetensors file or its index
    #[arg(value_name = "CHECKPOINT")]
    path: PathBuf,
    /// Whose definition [default: that of the model's family]
    #[arg(long, value_parser = preset_parser())]
    preset: Option<Preset>,
    /// Added to the mean of squares [default: the eps of config.json]
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, value_parser = eps)]
    eps: Option<f32>,
    /// The dtype of the activations [default: that of config.json]
    #[arg(long, value_parser = dtype_parser())]
    dtype: Option<DType>,
}

/// Elements of random activations that each norm gets.
const ELEMENTS: u64 = 1 << 16;
const RANDOM: [Regime; 2] = [Regime::Normal(1.0), Regime::Outliers];
/// Rows of each kind of adversarial activations.
const ROWS: u64 = 10;
const ADVERSARIAL: [Regime; 8] = [
    Regime::Constant(0.0),
    Regime::Constant(1e-6),
    Regime::Alternating(3e38),
    Regime::Spike(3e38, 1e-30),
    Regime::Subnormal,
    Regime::Mixed,
    Regime::AnyFinite,
    Regime::Spoiled,
];

/// What came of one norm.
struct Layer<'a> {
    weight: &'a Weight,
    spec: NormSpec,
    random: Outcome,
    adversarial: Outcome,
    rows: u64,
    seconds: f64,
}

/// Checks a checkpoint.
pub fn run(options: &Options, context: &Context) -> Result<ExitCode, Failure> {
    let report = context.json.report()?;
    let told_all = options.preset.is_some() && options.eps.is_some();
    let checkpoint = Checkpoint::open(&options.path, told_all)?;
    let config = &checkpoint.config;
    let preset = preset(options, &checkpoint)?;
    let eps = options.eps.map_or_else(|| config.eps(), Ok)?;
    let norms = find(options, &checkpoint)?;
    let dtype = options.dtype.unwrap_or_else(|| activation_dtype(config, &norms.weights));
    let (adapter, gpu) = context.choice.gpu()?;
    remark(config, &norms);
    if report.wants_text() {
        say!(
            "Model    {}: {} norms, {preset}, eps {eps:e}, {dtype} activations",
            described(&config.model_type),
            norms.weights.len()
        );
        say!("Adapter  {adapter}\n");
    }
    let bar = progress::of_pieces(norms.weights.len() as u64);
    let mut layers = Vec::new();
    for weight in &norms.weights {
        bar.set_message(harmless(&weight.name));
        let spec = preset.spec(weight.values.as_slice().len() as u64, eps).input(dtype).weight(weight.values.as_slice().dtype());
        layers.push(check(&gpu, spec, weight)?);
        bar.inc(1);
    }
    bar.finish_and_clear();

    let wrong: Vec<_> = layers.iter().filter(|layer| !layer.passed()).map(|layer| layer.weight.name.as_str()).collect();
    if report.wants_text() {
        print(&layers);
        match wrong.as_slice() {
            [] => say!("{GOOD}All {} norms are within the error model.{GOOD:#}", layers.len()),
            names => say!("{BAD}WRONG:{BAD:#} {}\n`wgpu-rmsnorm verify` tells more about this driver.", names.join(", ")),
        }
    }
    report.write(&json!({
        "model_type": config.model_type,
        "preset": preset.name(),
        "eps": number(eps),
        "dtype": dtype.name(),
        "adapter": adapter.to_string(),
        "norms": layers.iter().map(Layer::json).collect::<Vec<_>>(),
        "left_out": norms.others,
    }))?;
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(WRONG) })
}

/// What is odd about a checkpoint, and no error.
fn remark(config: &ModelConfig, norms: &Norms) {
    let found = norms.layers();
    if let Some(layers) = config.layers.filter(|layers| *layers != found as u64) {
        note(format_args!("config.json says that there are {layers} layers; norms of {found} are here"));
    }
    for name in norms.not_finite() {
        note(format_args!("{name} holds NaN or infinity, and so will what it weights"));
    }
    if !norms.others.is_empty() {
        let others = norms.others.join(", ");
        note(format_args!("left out, for they are not known to be RMSNorm weights of this family: {others}"));
    }
}

fn described(model_type: &str) -> &str {
    if model_type.is_empty() { "of no stated type" } else { model_type }
}

fn preset(options: &Options, checkpoint: &Checkpoint) -> Result<Preset, Failure> {
    options.preset.or(checkpoint.config.family.map(|family| family.preset)).ok_or_else(|| {
        let problem = format!("the model type {:?} of config.json is not known", checkpoint.config.model_type);
        Failure::new(
            problem,
            format_args!("say whose definition its norms follow with --preset; known are {}", families::known()),
        )
    })
}

/// The norms that the model's family names; where it is not known, those that any family does.
fn find(options: &Options, checkpoint: &Checkpoint) -> Result<Norms, Failure> {
    let all: Vec<&str> = families::FAMILIES.iter().flat_map(|family| family.weights).copied().collect();
    let norms = checkpoint.norms(checkpoint.config.family.map_or(&all, |family| family.weights))?;
    if norms.weights.is_empty() {
        let other = norms.others.first().map_or("it has no vectors named so".into(), |name| format!("it has {name}, for one"));
        let problem =
            format!("holds no RMSNorm of the names that are known for {}: {other}", described(&checkpoint.config.model_type));
        return Err(Failure::file(&options.path, problem, "pass a checkpoint with the names that Transformers gives"));
    }
    Ok(norms)
}

fn check<'a>(gpu: &Gpu, spec: NormSpec, weight: &'a Weight) -> Result<Layer<'a>, Failure> {
    let norm = gpu.norm(spec)?;
    let activations = |regime, rows| Data::new(&spec.without_weight(), rows, regime, Weights::Usual);
    let run = |regime, rows| -> Result<Outcome, Failure> {
        let data = activations(regime, rows);
        let inputs = data.inputs().weight(&weight.values);
        let output = block_on(norm.run_values(&inputs))?;
        Ok(verify::check(&spec, &inputs, output.as_slice())?)
    };
    let rows = (ELEMENTS / spec.hidden).clamp(1, 512);
    let (mut random, mut adversarial) = (Outcome::default(), Outcome::default());
    for regime in RANDOM {
        random.merge(&run(regime, rows)?);
    }
    for regime in ADVERSARIAL {
        adversarial.merge(&run(regime, rows.min(ROWS))?);
    }
    let seconds = timing::seconds(&norm, &activations(RANDOM[0], rows).inputs().weight(&weight.values), rows)?;
    Ok(Layer { weight, spec, random, adversarial, rows, seconds })
}

impl Layer<'_> {
    fn passed(&self) -> bool {
        self.random.passed() && self.adversarial.passed()
    }

    /// The share of random activations whose result is not the correctly rounded one.
    fn misrounded(&self) -> f64 {
        self.random.misrounded as f64 / self.random.elements.max(1) as f64
    }

    fn json(&self) -> serde_json::Value {
        json!({
            "weight": self.weight.name,
            "hidden": self.spec.hidden,
            "dtypes": {
                "input": self.spec.input.name(),
                "weight": self.spec.weight.map(DType::name),
                "output": self.spec.output_dtype().name(),
            },
            "passed": self.passed(),
            "random": outcome::json(&self.random),
            "adversarial": outcome::json(&self.adversarial),
            "rows_timed": self.rows,
            "seconds": self.seconds,
        })
    }
}

fn print(layers: &[Layer<'_>]) {
    let headings = ["weight", "dtypes", "hidden", "random ULP", "adversarial ULP", "misrounded", "rows", "time", ""];
    let mut rows = table::new(&headings, 2);
    for layer in layers {
        let spec = &layer.spec;
        rows.add_row([
            harmless(&layer.weight.name),
            format!("{} x {} -> {}", spec.input, spec.weight.map_or("none", DType::name), spec.output_dtype()),
            spec.hidden.to_string(),
            format!("{:.3}", layer.random.worst_ulp),
            format!("{:.3}", layer.adversarial.worst_ulp),
            format!("{:.1e}", layer.misrounded()),
            layer.rows.to_string(),
            table::time(layer.seconds),
            if layer.passed() { "right".into() } else { "WRONG".into() },
        ]);
    }
    table::print(&rows);
    say!(
        "\nULP: the largest distance to the float64 reference, in units of the output's last place. Misrounded: the share of results"
    );
    say!(
        "on random activations that are not the value nearest to it. Time: one norm of {} in a submit, of these rows.",
        timing::BATCH
    );
}
