//! A norm and the copies of its bytes, in turns.

use super::clock::{Clock, median};
use super::copies::Copies;
use super::work::Work;
use crate::failure::Failure;

/// A submit shall take as long as this, where no more repetitions are needed for it than that.
const SUBMIT: f64 = 0.01;
const MOST_REPETITIONS: f64 = 64.0;
/// Submits of each.
const SUBMITS: [f64; 2] = [5.0, 101.0];

/// Seconds that each takes.
#[derive(Debug, Clone, Copy)]
pub struct Timed {
    /// One norm in a submit.
    pub single: f64,
    /// One norm of several in a submit.
    pub norm: f64,
    /// One of as many copies by the fastest kernel.
    pub copy: f64,
    /// One of as many copies by `copy_buffer_to_buffer`.
    pub plain_copy: f64,
    /// How many.
    pub repetitions: u32,
}

/// Takes as many turns as fit the budget.
pub fn measure(work: &Work, copies: &Copies, clock: &mut Clock, budget: f64) -> Result<Timed, Failure> {
    let mut once = || clock.seconds(|encoder| Ok(work.prepared.record_in(encoder, work.rows())?));
    // The first may find the device asleep.
    once()?;
    let mut single = Vec::new();
    for _ in 0..7 {
        single.extend(once()?);
    }
    let single = median(single).ok_or_else(no_time)?;
    let repetitions = (SUBMIT / single).ceil().clamp(1.0, MOST_REPETITIONS);
    let turns = (budget / (3.0 * repetitions * single)).clamp(SUBMITS[0], SUBMITS[1]) as usize;
    let count = repetitions as usize;
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..turns {
        times[0].extend(clock.seconds(|encoder| {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            (0..count).try_for_each(|_| work.prepared.record(&mut pass, work.rows()))?;
            Ok(())
        })?);
        times[1].extend(clock.seconds(|encoder| {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            (0..count).for_each(|_| copies.best.record_in(&mut pass));
            Ok(())
        })?);
        times[2].extend(clock.seconds(|encoder| {
            (0..count).for_each(|_| copies.record_plain(encoder));
            Ok(())
        })?);
    }
    let [norm, copy, plain_copy] = times.map(|times| median(times).map(|seconds| seconds / repetitions));
    Ok(Timed {
        single,
        norm: norm.ok_or_else(no_time)?,
        copy: copy.ok_or_else(no_time)?,
        plain_copy: plain_copy.ok_or_else(no_time)?,
        repetitions: repetitions as u32,
    })
}

fn no_time() -> Failure {
    Failure::new("the device's timestamps are zero or out of order", "use --wall-clock")
}
