//! Trains a deep residual stack on this repository's own documentation, character by character, with every norm's forward and backward
//! pass on the GPU, and beside it the same run on candle's own norms on the CPU, in f32 and in f64: the same seed, the same batches, step
//! by step. Then the same stack with LayerNorm, and with no norm at all.
//!
//! Training amplifies the last bits of f32: how much, the two runs of candle show. This library's run may be as far from candle's as that.
//!
//! ```sh
//! cargo run --release --manifest-path examples/train/Cargo.toml          # prints the losses, draws train.svg
//! ```

mod model;
mod norm;
mod plot;
mod text;

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use candle_core::DType;
use model::{Model, Shape};
use norm::{Kind, OnGpu};
use text::Text;
use wgpu_rmsnorm::Gpu;

const STEPS: usize = 200;
const SHAPE: Shape = Shape { context: 12, embedding: 16, width: 96, blocks: 24 };
const BATCH: usize = 96;
const LEARNING_RATE: f64 = 0.03;
const SEED: u64 = 20_191_016;

/// What computes the norms of a run, and everything else in it.
#[derive(Clone, Copy)]
enum By<'a> {
    /// The norms on the GPU, all else by candle in f32.
    Library(&'a OnGpu),
    /// All by candle, in this dtype.
    Candle(DType),
}

/// A run: the loss of every step.
struct Run {
    name: String,
    losses: Vec<f64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (steps, file) = options(&arguments)?;
    let gpu = Gpu::new_blocking()?;
    let text = Text::of_this_repository();
    println!(
        "{} residual blocks of {}, {} characters of text, {steps} steps of {BATCH}, seed {SEED}",
        SHAPE.blocks,
        SHAPE.width,
        text.len()
    );
    println!("Norms on {}", gpu.info().name);

    let mut runs = Vec::new();
    let mut verdicts = Vec::new();
    for kind in [Kind::RmsNorm, Kind::LayerNorm] {
        let on_gpu = OnGpu::new(&gpu, kind, SHAPE.width)?;
        let ours = train(&text, kind, By::Library(&on_gpu), steps)?;
        let candle = train(&text, kind, By::Candle(DType::F32), steps)?;
        let exact = train(&text, kind, By::Candle(DType::F64), steps)?;
        let (step, apart) = largest_difference(&ours.losses, &candle.losses);
        let (_, noise) = largest_difference(&candle.losses, &exact.losses);
        let name = kind.name();
        verdicts.push((
            format!(
                "{name}: this library and candle at most {apart:.1e} apart, at step {step}; candle in f32 and f64 {noise:.1e}"
            ),
            // A NaN is no agreement.
            apart <= MOST_OF_NOISE * noise + LEAST,
        ));
        runs.extend([ours, candle]);
    }
    runs.push(train(&text, Kind::None, By::Candle(DType::F32), steps)?);
    table(&runs, steps);
    verdicts.iter().for_each(|(verdict, _)| println!("{verdict}"));
    plot::draw(&file, &runs)?;
    println!("Drawn: {}", file.display());
    match verdicts.iter().find(|(_, agrees)| !agrees) {
        None => Ok(()),
        Some((verdict, _)) => Err(format!("further apart than rounding explains: {verdict}").into()),
    }
}

/// How far the losses of this library's run and of candle's may be apart, in units of what f32 does to candle's own; and what any two
/// runs in f32 may differ by.
const MOST_OF_NOISE: f64 = 8.0;
const LEAST: f64 = 1e-5;

fn options(arguments: &[String]) -> Result<(usize, PathBuf), String> {
    let usage = "expected: train [STEPS [FILE.svg]], got";
    let wrong = || format!("{usage} {}", arguments.join(" "));
    let steps = match arguments.first() {
        Some(steps) => steps.parse().ok().filter(|steps| *steps > 0).ok_or_else(wrong)?,
        None => STEPS,
    };
    match arguments {
        [] | [_] => Ok((steps, "train.svg".into())),
        [_, file] => Ok((steps, file.into())),
        _ => Err(wrong()),
    }
}

fn train(text: &Text, kind: Kind, by: By<'_>, steps: usize) -> Result<Run, Box<dyn Error>> {
    let start = Instant::now();
    let name = match (kind, by) {
        (Kind::None, _) => "no norm".to_owned(),
        (_, By::Library(_)) => format!("{}, this library", kind.name()),
        (_, By::Candle(DType::F64)) => format!("{}, candle in f64", kind.name()),
        (_, By::Candle(_)) => format!("{}, candle", kind.name()),
    };
    let mut model = Model::new(SHAPE, text.characters(), kind, by, SEED)?;
    let mut losses = Vec::with_capacity(steps);
    for step in 0..steps {
        losses.push(model.step(&text.batch(step, BATCH, SHAPE.context)?, LEARNING_RATE)?);
        if (step + 1) % 50 == 0 {
            eprintln!("{name}: step {}, loss {:.4}", step + 1, losses[step]);
        }
    }
    eprintln!("{name}: {:.1} s", start.elapsed().as_secs_f64());
    Ok(Run { name, losses })
}

fn table(runs: &[Run], steps: usize) {
    println!("\n  step  {}", runs.iter().map(|run| format!("{:>24}", run.name)).collect::<String>());
    let every = steps.div_ceil(12).max(1);
    for step in (0..steps).filter(|step| step % every == 0 || step + 1 == steps) {
        let losses: String = runs.iter().map(|run| format!("{:>24.6}", run.losses[step])).collect();
        println!("{:>6}  {losses}", step + 1);
    }
    println!();
}

/// The step at which two curves are farthest apart, and how far.
fn largest_difference(a: &[f64], b: &[f64]) -> (usize, f64) {
    let apart = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    apart.enumerate().fold((0, 0.0), |most, (step, apart)| {
        // A NaN is the largest of all.
        if apart > most.1 || apart.is_nan() { (step + 1, apart) } else { most }
    })
}
