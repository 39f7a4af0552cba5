//! Which plan of a norm is best, and in how many lanes rows of a length are summed best.

use wgpu_rmsnorm::{Force, Gpu, NormSpec, Order, Plan, Tuning};

use super::candidates::candidates;
use super::race::{BETTER, race};
use crate::bench::clock::Clock;
use crate::bench::operation::{Dtypes, Operation};
use crate::bench::shape::Shape;
use crate::bench::work::Work;
use crate::failure::Failure;

/// A norm, and rows of it.
pub struct Job {
    pub operation: Operation,
    pub dtypes: Dtypes,
    pub shape: Shape,
}

impl Job {
    pub fn spec(&self) -> NormSpec {
        self.operation.spec(self.shape[1], self.dtypes)
    }
}

/// A plan that was tried.
pub struct Tried {
    /// None for the plan's own choice.
    pub choice: Force,
    pub plan: Plan,
    pub seconds: f64,
    /// Of the time that the plan's own choice took by turns with it.
    pub ratio: f64,
    pub kept: bool,
}

/// Lanes that were tried.
pub struct Lanes {
    pub hidden: u64,
    pub own: u32,
    /// The best others.
    pub best: u32,
    /// Of the time in own lanes, by the geometric mean over all norms of that length.
    pub ratio: f64,
    pub kept: bool,
}

/// Takes the times.
pub struct Tuner {
    pub gpu: Gpu,
    pub clock: Clock,
    /// For each race.
    pub seconds: f64,
}

impl Tuner {
    /// Races every candidate against the plan's own choice; the best runs again, and is kept where it wins both times.
    pub fn contest(&mut self, job: &Job, lanes: Option<u32>) -> Result<Vec<Tried>, Failure> {
        let spec = job.spec();
        let gpu = self.in_lanes(job.shape[1], lanes)?;
        let own = Work::new(&gpu, spec, job.shape, Force::default())?;
        own.check(&gpu)?;
        let mut tried = Vec::new();
        for candidate in candidates(&gpu.norm(spec)?, job.shape[0])? {
            let other = Work::new(&gpu, spec, job.shape, candidate.choice)?;
            let [before, seconds] = race([&own, &other], &mut self.clock, self.seconds)?;
            let (choice, plan) = (candidate.choice, candidate.plan);
            tried.push((before, Tried { choice, plan, seconds, ratio: seconds / before, kept: false }));
            gpu.trim_pipelines(wgpu_rmsnorm::verify::PIPELINES_TO_KEEP);
        }
        let best = tried.iter_mut().map(|(_, tried)| tried).min_by(|a, b| a.ratio.total_cmp(&b.ratio));
        if let Some(best) = best.filter(|best| best.ratio < BETTER) {
            let other = Work::new(&gpu, spec, job.shape, best.choice)?;
            other.check(&gpu)?;
            // The best of many is lucky, too.
            let [before, seconds] = race([&own, &other], &mut self.clock, self.seconds)?;
            (best.seconds, best.ratio) = (seconds, seconds / before);
            best.kept = best.ratio < BETTER;
        }
        let seconds = tried.iter().map(|(before, _)| *before).fold(f64::INFINITY, f64::min);
        let own = Tried { choice: Force::default(), plan: own.prepared.plan().clone(), seconds, ratio: 1.0, kept: false };
        Ok([own].into_iter().chain(tried.into_iter().map(|(_, tried)| tried)).collect())
    }

    /// Races other numbers of lanes, up to four times as many and as few, over all norms of a length. `None` where there are none.
    pub fn lanes(&mut self, hidden: u64, jobs: &[&Job]) -> Result<Option<Lanes>, Failure> {
        let own = Order::new(hidden, self.gpu.caps()).lanes;
        let mut best: Option<(u32, f64)> = None;
        for lanes in Order::lanes_of(hidden) {
            if lanes == own || lanes > 4 * own || lanes < own / 4 {
                continue;
            }
            let ratio = self.ratio(hidden, lanes, jobs)?;
            if best.is_none_or(|(_, least)| ratio < least) {
                best = Some((lanes, ratio));
            }
        }
        let Some((best, mut ratio)) = best else { return Ok(None) };
        if ratio < BETTER {
            ratio = self.ratio(hidden, best, jobs)?;
        }
        Ok(Some(Lanes { hidden, own, best, ratio, kept: ratio < BETTER }))
    }

    /// The time in these lanes over that in own lanes.
    fn ratio(&mut self, hidden: u64, lanes: u32, jobs: &[&Job]) -> Result<f64, Failure> {
        let gpu = self.in_lanes(hidden, Some(lanes))?;
        let mut logarithms = 0.0;
        for job in jobs {
            let own = Work::new(&self.gpu, job.spec(), job.shape, Force::default())?;
            let other = Work::new(&gpu, job.spec(), job.shape, Force::default())?;
            other.check(&gpu)?;
            let [before, seconds] = race([&own, &other], &mut self.clock, self.seconds)?;
            logarithms += (seconds / before).ln();
        }
        Ok((logarithms / jobs.len() as f64).exp())
    }

    /// The device, summing rows of a length in these lanes.
    fn in_lanes(&self, hidden: u64, lanes: Option<u32>) -> Result<Gpu, Failure> {
        let mut tuning = Tuning::new(self.gpu.origin());
        tuning.set_lanes(hidden, lanes)?;
        Ok(self.gpu.with_tuning(tuning)?)
    }
}
