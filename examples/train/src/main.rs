//! Trains a deep residual stack on this repository's own documentation, character by character, with every norm's forward and backward
//! pass on the GPU, and beside it the same run on candle's own norms on the CPU: the same seed, the same batches, step by step. Then
//! the same stack with LayerNorm, and with no norm at all.
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

use model::{Model, Shape};
use norm::{Kind, OnGpu};
use text::Text;
use wgpu_rmsnorm::Gpu;

const STEPS: usize = 120;
const SHAPE: Shape = Shape { context: 12, embedding: 16, width: 96, blocks: 24 };
const BATCH: usize = 96;
const LEARNING_RATE: f64 = 0.03;
const SEED: u64 = 20_191_016;

/// A run: the loss of every step.
struct Run {
    name: String,
    losses: Vec<f32>,
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
    for kind in [Kind::RmsNorm, Kind::LayerNorm] {
        let on_gpu = OnGpu::new(&gpu, kind, SHAPE.width)?;
        runs.push(train(&text, kind, Some(&on_gpu), steps)?);
        runs.push(train(&text, kind, None, steps)?);
    }
    runs.push(train(&text, Kind::None, None, steps)?);
    table(&runs, steps);
    for pair in runs[..4].chunks(2) {
        let (step, difference) = largest_difference(&pair[0].losses, &pair[1].losses);
        println!("{} and {}: losses at most {difference:.1e} apart, at step {step}", pair[0].name, pair[1].name);
        if difference.is_nan() || difference > MOST_APART {
            return Err(format!("more than {MOST_APART:.0e}: the gradients are not the same").into());
        }
    }
    plot::draw(&file, &runs)?;
    println!("Drawn: {}", file.display());
    Ok(())
}

/// How far the losses of two runs may be apart whose norms differ in their last bits alone. A wrong factor anywhere makes it a
/// hundred times as much within a few steps.
const MOST_APART: f32 = 1e-3;

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

fn train(text: &Text, kind: Kind, on_gpu: Option<&OnGpu>, steps: usize) -> Result<Run, Box<dyn Error>> {
    let start = Instant::now();
    let name = match (kind, on_gpu) {
        (Kind::None, _) => "no norm".to_owned(),
        (_, Some(_)) => format!("{}, this library", kind.name()),
        (_, None) => format!("{}, candle", kind.name()),
    };
    let mut model = Model::new(SHAPE, text.characters(), kind, SEED)?;
    let mut losses = Vec::with_capacity(steps);
    for step in 0..steps {
        losses.push(model.step(&text.batch(step, BATCH, SHAPE.context), on_gpu, LEARNING_RATE)?);
        if (step + 1) % 40 == 0 {
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
fn largest_difference(a: &[f32], b: &[f32]) -> (usize, f32) {
    let apart = a.iter().zip(b).map(|(a, b)| (a - b).abs());
    apart.enumerate().fold((0, 0.0), |most, (step, apart)| {
        // A NaN is the largest of all.
        if apart > most.1 || apart.is_nan() { (step + 1, apart) } else { most }
    })
}
