//! Either way's results, held against each other, and either way's time.

use std::error::Error;
use std::time::{Duration, Instant};

use wgpu_rmsnorm::{Gpu, Values};

use super::apart::Step;
use super::operation::{Case, Written};

/// A submit shall take as long as this, where no more repetitions are needed for it than that.
const SUBMIT: Duration = Duration::from_millis(5);
const MOST_REPETITIONS: f64 = 64.0;
/// Submits of either way.
const SUBMITS: [f64; 2] = [3.0, 31.0];

pub struct Measured {
    /// Seconds that the work takes: fused and apart.
    pub seconds: [f64; 2],
    /// The largest distance between their results, in units of the last place.
    pub ulp: f64,
}

pub fn measure(gpu: &Gpu, case: &Case, budget: Duration) -> Result<Measured, Box<dyn Error>> {
    let ways = [&case.fused, &case.apart];
    let rows = case.shape[0];
    let results = [results(gpu, case, ways[0])?, results(gpu, case, ways[1])?];
    let mut ulp = 0f64;
    for (written, (fused, apart)) in case.written.iter().zip(results[0].iter().zip(&results[1])) {
        if written.tensor.is_start(fused) {
            return Err(format!("{}: nothing was written", case.operation.name()).into());
        }
        let distance = distance(written, fused, apart);
        if distance > written.limit {
            return Err(format!("{}: fused and apart differ by {distance} ULP", case.operation.name()).into());
        }
        ulp = ulp.max(distance);
    }

    // Everything was run and is warm: once more to see how long it takes.
    let once = [submit(gpu, ways[0], rows, 1)?, submit(gpu, ways[1], rows, 1)?];
    let repetitions = (SUBMIT.as_secs_f64() / once[0].min(once[1])).ceil().clamp(1.0, MOST_REPETITIONS);
    let submits = (budget.as_secs_f64() / (repetitions * (once[0] + once[1]))).clamp(SUBMITS[0], SUBMITS[1]) as usize;
    // Where one repetition is enough, that was the first submit.
    let mut times = if repetitions > 1.0 { [Vec::new(), Vec::new()] } else { once.map(|seconds| vec![seconds]) };
    // The two take turns, so that whatever else the machine does meets both.
    for _ in times[0].len()..submits {
        for (way, times) in ways.iter().zip(&mut times) {
            times.push(submit(gpu, way, rows, repetitions as u32)? / repetitions);
        }
    }
    let median = |mut times: Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    };
    Ok(Measured { seconds: times.map(median), ulp })
}

/// What one way leaves of the same start.
fn results(gpu: &Gpu, case: &Case, steps: &[Step]) -> Result<Vec<Values>, Box<dyn Error>> {
    case.written.iter().for_each(|written| written.tensor.reset(gpu));
    submit(gpu, steps, case.shape[0], 1)?;
    case.written.iter().map(|written| written.tensor.read(gpu)).collect()
}

fn distance(written: &Written, fused: &Values, apart: &Values) -> f64 {
    let (fused, apart) = (fused.as_slice(), apart.as_slice());
    if fused.bytes() == apart.bytes() {
        return 0.0;
    }
    let of = |(a, b): (&f64, &f64)| {
        let distance = (a - b).abs() / written.unit.ulp(a.abs().max(b.abs()));
        if distance.is_nan() { f64::INFINITY } else { distance }
    };
    fused.widen().iter().zip(&apart.widen()).map(of).fold(0.0, f64::max)
}

/// The seconds that so many repetitions take in one pass and one submit.
fn submit(gpu: &Gpu, steps: &[Step], rows: u64, repetitions: u32) -> Result<f64, Box<dyn Error>> {
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    {
        let mut pass = encoder.begin_compute_pass(&Default::default());
        for _ in 0..repetitions {
            for step in steps {
                step.record(&mut pass, rows)?;
            }
        }
    }
    let start = Instant::now();
    let index = gpu.queue().submit([encoder.finish()]);
    gpu.wait(index)?;
    Ok(start.elapsed().as_secs_f64())
}
