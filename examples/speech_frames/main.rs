//! Speech, every 20 ms of it brought to one loudness: a frame is a row, and its RMS is its loudness.
//!
//! ```sh
//! cargo run --release --example speech_frames [INPUT.wav] [OUTPUT_FOLDER]
//! ```
//!
//! INPUT.wav has 16-bit integer or 32-bit float samples; its channels are mixed down to one. Left out, three seconds of a sound
//! like speech are made up, and written beside the result as `original.wav`. OUTPUT_FOLDER (`target/speech_frames` unless named)
//! receives `normalised.wav` and `loudness.svg`.

mod plot;
mod speech;
mod wave;

use std::error::Error;
use std::path::{Path, PathBuf};

use wave::Wave;
use wgpu_rmsnorm::{Gpu, Inputs, NormSpec, verify};

/// Frames a second: 20 ms each, in which a voice hardly changes.
const FRAMES: u32 = 50;
/// What every frame is brought to. dBFS: decibels of the RMS, below a full scale of 1.
const TARGET_DBFS: f64 = -20.0;
/// Frames well below this stay quiet.
const NOISE_FLOOR_DBFS: f64 = -50.0;
/// Lines of the table.
const LINES: usize = 12;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let input = arguments.next();
    let folder = arguments.next().unwrap_or(Path::new(env!("CARGO_MANIFEST_DIR")).join("target/speech_frames"));
    let original = input.as_deref().map_or_else(|| Ok(speech::synthesise()), Wave::read)?;
    let path = folder.join("normalised.wav");
    if input.as_deref().is_some_and(|input| same_file(input, &path)) {
        return Err(format!("{} is the input, and is not replaced; name another folder", path.display()).into());
    }

    // Frames lie side by side, so that the samples are the rows as they come. Zeros fill the last one: they count in its mean,
    // and what is left of the sound there comes out a little louder than the rest.
    let frame = (original.rate / FRAMES) as usize;
    let mut x = original.samples.clone();
    x.resize(x.len().next_multiple_of(frame), 0.0);

    // The norm alone gives every frame an RMS of 1, which is full scale. The weight, one constant for all channels, is a gain
    // in the same pass: it brings that to the target. eps is a noise floor. It is added to the mean square, so that no frame
    // gains more than weight / sqrt(eps), 30 dB here. A frame at -40 dBFS comes within half a decibel of the target, one at -70
    // ends at -40 instead of hissing as loud as speech, and silence stays silence (with an eps of zero it would be 0 / 0).
    let eps = amplitude(NOISE_FLOOR_DBFS).powi(2) as f32;
    let weight = vec![amplitude(TARGET_DBFS) as f32; frame];
    let spec = NormSpec::torch(frame as u64, eps);
    let gpu = Gpu::new_blocking()?;
    let inputs = Inputs::new(&x).weight(&weight);
    let y: Vec<f32> = gpu.norm(spec)?.run_blocking(&inputs)?;
    let outcome = verify::check(&spec, &inputs, (&y).into())?;
    if !outcome.passed() {
        return Err(format!("wrong: {outcome:?}").into());
    }

    let loudness = |samples: &[f32]| samples.chunks_exact(frame).map(dbfs).collect::<Vec<f64>>();
    let (before, after) = (loudness(&x), loudness(&y));
    let step = frame as f64 / f64::from(original.rate);
    println!("{} frames of {frame} samples on {}", before.len(), gpu.info().name);
    println!("Every element is within {:.3} ULP of the float64 reference.\n", outcome.worst_ulp);
    print_table(step, &before, &after);
    print_summary(&before, &after);

    let normalised = Wave { rate: original.rate, samples: y[..original.samples.len()].to_vec() };
    std::fs::create_dir_all(&folder).map_err(|error| format!("cannot create the folder {}: {error}", folder.display()))?;
    if input.is_none() {
        write(&folder.join("original.wav"), |path| original.write(path))?;
    }
    write(&path, |path| normalised.write(path))?;
    write(&folder.join("loudness.svg"), |path| plot::loudness(path, step, &before, &after))?;

    match normalised.clipped() {
        0 => println!("No sample is beyond full scale."),
        clipped => println!("Samples beyond full scale, clipped in normalised.wav: {clipped}"),
    }
    println!("The gain steps from frame to frame, which is heard as a rasp: for real use, interpolate the gains between frames.");
    Ok(())
}

/// Decibels as a factor of samples.
fn amplitude(decibels: f64) -> f64 {
    10f64.powf(decibels / 20.0)
}

/// Of true silence, minus infinity.
fn dbfs(samples: &[f32]) -> f64 {
    let squares: f64 = samples.iter().map(|&sample| f64::from(sample).powi(2)).sum();
    10.0 * (squares / samples.len() as f64).log10()
}

fn print_table(step: f64, before: &[f64], after: &[f64]) {
    println!("  time s   before dBFS    after dBFS       gain dB");
    let lines = LINES.min(before.len());
    for line in 0..lines {
        let index = line * (before.len() - 1) / (lines - 1).max(1);
        let (time, before, after) = (index as f64 * step, before[index], after[index]);
        if before.is_finite() {
            println!("{time:8.2}  {before:12.1}  {after:12.1}  {:+12.1}", after - before);
        } else {
            println!("{time:8.2}       silence       silence             -");
        }
    }
    println!();
}

fn print_summary(before: &[f64], after: &[f64]) {
    for (name, quiet) in [("above", false), ("below", true)] {
        let pairs = before.iter().copied().zip(after.iter().copied());
        let asked = |(before, _): &(f64, f64)| before.is_finite() && (*before < NOISE_FLOOR_DBFS) == quiet;
        let (before, after): (Vec<f64>, Vec<f64>) = pairs.filter(asked).unzip();
        if !before.is_empty() {
            let (count, before, after) = (before.len(), range(&before), range(&after));
            println!("{count:4} frames {name} the noise floor of {NOISE_FLOOR_DBFS} dBFS: {before} before, {after} after");
        }
    }
    println!("{:4} frames of silence\n", before.iter().filter(|before| before.is_infinite()).count());
}

fn range(levels: &[f64]) -> String {
    let low = levels.iter().copied().fold(f64::INFINITY, f64::min);
    let high = levels.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{low:.1} to {high:.1} dBFS")
}

/// Whether both exist and are one.
fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn write<E: std::fmt::Display>(path: &Path, how: impl FnOnce(&Path) -> Result<(), E>) -> Result<(), String> {
    how(path).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    println!("Wrote {}", path.display());
    Ok(())
}
