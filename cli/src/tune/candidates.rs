//! The plans that are worth a try.

use std::iter::successors;

use wgpu_rmsnorm::{Access, Force, Layout, Norm, Plan, Reduction, Rung, Slot};

use crate::failure::Failure;

/// Widths that are tried on each rung: this many powers of two, from the widest down.
const WIDTHS: usize = 5;

/// Workgroups that are tried where several rows share one.
const WORKGROUPS: [u32; 4] = [32, 64, 128, 256];

/// A choice, and the plan that it makes.
pub struct Candidate {
    pub choice: Force,
    pub plan: Plan,
}

/// Every rung at several widths, both ways in which lanes join, several sizes of workgroups, and words where 16 bytes could be read at
/// a time: those that apply and differ from the plan's own choice and from each other.
pub fn candidates(norm: &Norm, rows: u64) -> Result<Vec<Candidate>, Failure> {
    let layout = Layout::contiguous(norm.spec(), rows);
    let own = norm.plan(&layout, rows)?;
    let mut found: Vec<Candidate> = Vec::new();
    for choice in choices(&own) {
        let Ok(plan) = norm.plan_with(&layout, rows, choice) else { continue };
        let is_new = |other: &Plan| !is_same(other, &plan);
        if is_new(&own) && found.iter().all(|candidate| is_new(&candidate.plan)) {
            found.push(Candidate { choice, plan });
        }
    }
    Ok(found)
}

fn choices(own: &Plan) -> Vec<Force> {
    let most = own.order.octet_lanes().min(u64::from(own.caps.max_invocations)).max(1) as u32;
    let widest = 1 << most.ilog2();
    let widths = || successors(Some(widest), |width| (*width > 1).then_some(width / 2)).take(WIDTHS);
    let mut all: Vec<Force> =
        Rung::ALL.into_iter().flat_map(|rung| widths().map(move |width| Force::default().rung(rung).width(width))).collect();
    all.extend(Reduction::ALL.map(|reduction| Force::default().reduction(reduction)));
    all.extend(WORKGROUPS.map(|invocations| Force::default().rung(Rung::Multi).workgroup(invocations)));
    if own.access.get(Slot::Input) > Access::Word {
        all.push(Force::default().access(Access::Word));
        all.extend(Rung::ALL.map(|rung| Force::default().rung(rung).access(Access::Word)));
    }
    all
}

/// Whether two plans of one norm run the same kernel on the same grid.
fn is_same(a: &Plan, b: &Plan) -> bool {
    let grids = |plan: &Plan| plan.chunks.iter().map(|chunk| plan.grid(chunk, chunk.rows)).collect::<Vec<_>>();
    grids(a) == grids(b) && a.shader().wgsl == b.shader().wgsl
}
