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
/// Submits of one norm, and the part of the budget that they may take.
const SINGLES: [f64; 2] = [7.0, 101.0];
const SINGLES_PART: f64 = 0.2;

/// Seconds that each takes.
#[derive(Debug, Clone, Copy)]
pub struct Timed {
    /// One norm, recorded, submitted and waited for.
    pub single: f64,
    /// One norm of several that are recorded, submitted and waited for together.
    pub batch: f64,
    /// One norm of these by the clock.
    pub norm: f64,
    /// One of as many copies by the fastest kernel, by the clock.
    pub copy: f64,
    /// The same by the fastest kernel that goes by 32-bit words, where that is another.
    pub copy_by_words: Option<f64>,
    /// One of as many copies by `copy_buffer_to_buffer`, by the clock.
    pub plain_copy: f64,
    /// How many.
    pub repetitions: u32,
}

/// Takes as many turns as fit the budget.
pub fn measure(work: &Work, copies: &Copies, clock: &mut Clock, budget: f64) -> Result<Timed, Failure> {
    let once = || clock.whole(|encoder| Ok(work.prepared.record_in(encoder, work.rows())?));
    // The first may find the device asleep.
    once()?;
    let singles = (SINGLES_PART * budget / once()?).clamp(SINGLES[0], SINGLES[1]) as usize;
    let singles: Vec<f64> = (0..singles).map(|_| once()).collect::<Result<_, _>>()?;
    let single = median(singles).ok_or_else(no_time)?;
    let repetitions = (SUBMIT / single).ceil().clamp(1.0, MOST_REPETITIONS);
    let turns = (budget / (3.0 * repetitions * single)).clamp(SUBMITS[0], SUBMITS[1]) as usize;
    let count = repetitions as usize;
    let mut batches = Vec::new();
    let mut times = [const { Vec::new() }; 4];
    for _ in 0..turns {
        let norms = clock.time(|encoder| {
            let mut pass = encoder.begin_compute_pass(&Default::default());
            (0..count).try_for_each(|_| work.prepared.record(&mut pass, work.rows()))?;
            Ok(())
        })?;
        batches.push(norms.whole);
        times[0].extend(norms.work);
        for (copy, times) in [Some(&copies.best), copies.best_by_words.as_ref()].into_iter().zip(&mut times[1..]) {
            let Some(copy) = copy else { continue };
            let copied = clock.time(|encoder| {
                let mut pass = encoder.begin_compute_pass(&Default::default());
                (0..count).for_each(|_| copy.record_in(&mut pass));
                Ok(())
            })?;
            times.extend(copied.work);
        }
        times[3].extend(
            clock
                .time(|encoder| {
                    (0..count).for_each(|_| copies.record_plain(encoder));
                    Ok(())
                })?
                .work,
        );
    }
    let each = |times| median(times).map(|seconds| seconds / repetitions).ok_or_else(no_time);
    let [norm, copy, copy_by_words, plain_copy] = times;
    Ok(Timed {
        single,
        batch: each(batches)?,
        norm: each(norm)?,
        copy: each(copy)?,
        copy_by_words: copies.best_by_words.as_ref().map(|_| each(copy_by_words)).transpose()?,
        plain_copy: each(plain_copy)?,
        repetitions: repetitions as u32,
    })
}

fn no_time() -> Failure {
    Failure::new("the device's timestamps are zero or out of order", "use --wall-clock")
}
