//! RMSNorm beside LayerNorm: the activations of a small Llama, as they were recorded, through either on the GPU.
//!
//! ```sh
//! cargo run --release --example versus_layer_norm [OUTPUT.svg]
//! ```
//!
//! OUTPUT.svg (`target/versus_layer_norm/versus_layer_norm.svg` unless named) receives a drawing of both. The model was trained
//! with RMSNorm: what LayerNorm makes of its activations is a comparison of two functions, and not of two trained models.

mod batch;
mod measure;
mod plot;
mod recording;

use std::error::Error;
use std::path::{Path, PathBuf};

use measure::{BATCH, Measured, Side};
use wgpu_rmsnorm::{Gpu, NormSpec};

/// A row's statistics must not depend on the batch. This row stands in two batches, at another place in each.
const ROW: usize = 25;
const OTHER_BATCH: std::ops::Range<usize> = 20..31;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).map(PathBuf::from);
    let path = path.unwrap_or(Path::new(env!("CARGO_MANIFEST_DIR")).join("target/versus_layer_norm/versus_layer_norm.svg"));
    let recording = recording::read()?;
    let gpu = Gpu::new_blocking()?;

    println!("The norms of a small Llama on the prompt {:?}, f32, on {}\n", recording.prompt, gpu.info().name);
    let measure = |layer| measure::measure(&gpu, layer, recording.eps);
    let all = recording.layers.iter().map(measure).collect::<Result<Vec<_>, _>>()?;
    print_table(&all);
    print_summary(&all);

    let last = recording.layers.last().ok_or("the recording is empty")?;
    batch::compare(&gpu, last, recording.eps, ROW, OTHER_BATCH)?;

    let folder = path.parent().ok_or("name a file, not a folder")?;
    std::fs::create_dir_all(folder).map_err(|error| format!("cannot create the folder {}: {error}", folder.display()))?;
    plot::draw(&path, &all).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("\nWrote {}", path.display());
    Ok(())
}

/// Both norms of so many channels, RMSNorm first. LayerNorm's bias is zeros here, and its weight RMSNorm's.
fn both(hidden: u64, eps: f32) -> [NormSpec; 2] {
    [NormSpec::llama(hidden, eps), NormSpec::layer_norm(hidden, eps)]
}

fn print_table(all: &[Measured]) {
    let pair = |heading| format!("{heading:^17}");
    let [rms, mean, parameters, bytes, time] =
        ["RMS of rows", "|mean| of rows", "parameters", "bytes moved", "time, µs"].map(pair);
    println!("{:24}{:>9} {rms}{mean} mean   {parameters}{bytes}{time} time", "", "");
    let heads = format!("{:>8} {:>7} ", "RMSNorm", "Layer");
    println!("{:24}{:>9} {heads}{heads} |diff| {heads}{heads}{heads} ratio", "norm", "shape");
    for Measured { name, shape, sides: [rms, layer], difference, .. } in all {
        let name = name.strip_prefix("model.").unwrap_or(name).replace("post_attention_layernorm", "post_norm");
        let name = name.replace("input_layernorm", "input_norm");
        println!(
            "{name:24}{:>9} {} {} {difference:6.3} {} {} {}  {:4.2}",
            format!("{}x{}", shape[0], shape[1]),
            format_args!("{:8.3} {:7.3}", rms.rms, layer.rms),
            format_args!("{:8.3} {:7.3}", rms.mean, layer.mean),
            format_args!("{:8} {:7}", rms.parameters, layer.parameters),
            format_args!("{:8} {:7}", rms.bytes, layer.bytes),
            format_args!("{:8.1} {:7.1}", rms.seconds * 1e6, layer.seconds * 1e6),
            layer.seconds / rms.seconds,
        );
    }
    println!();
}

fn print_summary(all: &[Measured]) {
    let worst = |side: usize| all.iter().map(|m| m.sides[side].worst_ulp).fold(0.0, f64::max);
    let largest =
        |side: usize| all.iter().flat_map(|m| &m.sides[side].plain_means).fold(0.0, |most: f64, mean| most.max(mean.abs()));
    let total = |of: fn(&Side) -> f64, side: usize| all.iter().map(|m| of(&m.sides[side])).sum::<f64>();
    let ratio = total(|side| side.seconds, 1) / total(|side| side.seconds, 0);
    println!("All results are within the error model: {:.2} and {:.2} ULP from the float64 reference.", worst(0), worst(1));
    println!(
        "Statistics are over rows, after the weight. A time is one norm's of {BATCH} in a submit, the median of several submits."
    );
    println!(
        "Before the weight, LayerNorm's rows have a mean of zero (the largest is {:.0e}), and RMSNorm's keep theirs: up to {:.3}",
        largest(1),
        largest(0),
    );
    println!("of an RMS of 1. That is all that LayerNorm takes away, and in this model it is little.");
    println!(
        "LayerNorm reads and writes as much, but for its bias, and sweeps a row twice: it takes {ratio:.2} times as long here.\n"
    );
}
