//! One row in two batches: a norm of rows gives it the same bits, a norm over the batch other values.

use std::error::Error;
use std::ops::Range;

use wgpu_rmsnorm::{Gpu, Inputs};

use super::measure::normalize;
use super::recording::Layer;

/// Compares what becomes of a row among all rows and among those of `other`, in which it must be.
pub fn compare(gpu: &Gpu, layer: &Layer, eps: f32, row: usize, other: Range<usize>) -> Result<(), Box<dyn Error>> {
    let [rows, hidden] = layer.shape;
    println!(
        "Row {row} of {} in a batch of all {rows} rows, and in one of rows {} to {}:",
        layer.name,
        other.start,
        other.end - 1
    );
    let zeros = vec![0f32; hidden];
    let of = |rows: Range<usize>| rows.start * hidden..rows.end * hidden;
    let (here, there) = (of(row..row + 1), of(row - other.start..row - other.start + 1));

    for (name, spec) in ["RMSNorm", "LayerNorm"].into_iter().zip(super::both(hidden as u64, eps)) {
        let run = |rows: Range<usize>| {
            let inputs = Inputs::new(&layer.input[of(rows)]).weight(&layer.weight);
            normalize(gpu, spec, &if spec.bias.is_some() { inputs.bias(&zeros) } else { inputs })
        };
        let ((all, _), (some, _)) = (run(0..rows)?, run(other.clone())?);
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        if bits(&all[here.clone()]) != bits(&some[there.clone()]) {
            return Err(format!("{name} gives the row other bits in the other batch").into());
        }
        println!("  {name:9} gives it the same bits.");
    }

    let all = batch_norm(&layer.input, &layer.weight, eps);
    let some = batch_norm(&layer.input[of(other)], &layer.weight, eps);
    let difference = all[here].iter().zip(&some[there]).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    println!(
        "  BatchNorm, whose statistics are the batch's (float64, on the CPU), gives it values that differ by up to {difference:.2}."
    );
    Ok(())
}

/// Every channel less its mean over the rows, divided by its deviation over the rows, and weighted.
fn batch_norm(x: &[f32], weight: &[f32], eps: f32) -> Vec<f64> {
    let hidden = weight.len();
    let rows = (x.len() / hidden) as f64;
    let mut y = vec![0.0; x.len()];
    for (channel, &weight) in weight.iter().enumerate() {
        let column = || x.iter().skip(channel).step_by(hidden).map(|&x| f64::from(x));
        let mean = column().sum::<f64>() / rows;
        let variance = column().map(|x| (x - mean).powi(2)).sum::<f64>() / rows;
        let scale = f64::from(weight) / (variance + f64::from(eps)).sqrt();
        y.iter_mut().skip(channel).step_by(hidden).zip(column()).for_each(|(y, x)| *y = (x - mean) * scale);
    }
    y
}
