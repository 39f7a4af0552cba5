//! Two plans in turns.

use crate::bench::clock::{Clock, median};
use crate::bench::work::Work;
use crate::failure::Failure;

/// A submit shall take as long as this, where no more repetitions are needed for it than that.
const SUBMIT: f64 = 0.004;
const MOST_REPETITIONS: f64 = 64.0;
/// Submits of each.
const TURNS: [f64; 2] = [7.0, 101.0];
/// What is not better by as much is noise.
pub const BETTER: f64 = 0.95;

/// Seconds that a norm takes by each of two plans: medians of submits, taken by turns, each first as often as the other.
pub fn race(works: [&Work; 2], clock: &mut Clock, budget: f64) -> Result<[f64; 2], Failure> {
    let mut once = |work: &Work, count: usize| -> Result<Option<f64>, Failure> {
        let time = clock.time(|encoder| {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            (0..count).try_for_each(|_| work.prepared.record(&mut pass, work.rows()))?;
            Ok(())
        })?;
        Ok(time.work)
    };
    // The first may find the device asleep.
    once(works[1], 1)?;
    once(works[0], 1)?;
    let single = once(works[0], 1)?.ok_or_else(no_time)?;
    let repetitions = (SUBMIT / single).ceil().clamp(1.0, MOST_REPETITIONS);
    let turns = (budget / (2.0 * repetitions * single)).clamp(TURNS[0], TURNS[1]) as usize;
    let mut times = [Vec::new(), Vec::new()];
    for turn in 0..turns {
        for index in [turn % 2, 1 - turn % 2] {
            times[index].extend(once(works[index], repetitions as usize)?);
        }
    }
    let [first, second] = times.map(|times| median(times).map(|seconds| seconds / repetitions));
    Ok([first.ok_or_else(no_time)?, second.ok_or_else(no_time)?])
}

fn no_time() -> Failure {
    Failure::new("the device's timestamps are zero or out of order", "use --wall-clock")
}
