//! What was tried and what was kept: a table for people, JSON for machines.

use serde_json::{Value, json};
use wgpu_rmsnorm::{Access, Plan, Slot};

use super::contest::{Job, Lanes, Tried};
use crate::output::say;
use crate::table;

/// Operation, dtype and shape.
pub fn name(job: &Job) -> [String; 3] {
    [job.operation.name(), job.dtypes.name(), format!("{}x{}", job.shape[0], job.shape[1])]
}

/// Rung, workgroup and access, in words.
fn words(plan: &Plan) -> String {
    let access = if plan.access.get(Slot::Input) > Access::Word { "" } else { ", by words" };
    format!("{} {} x {} x {}{access}", plan.rung.name(), plan.width, plan.rows_at_once, plan.rounds)
}

/// Prints the table: under each norm's own choice what was tried, the fastest first.
pub fn print(jobs: &[Job], contests: &[Vec<Tried>], orders: &[Lanes]) {
    for lanes in orders {
        let Lanes { hidden, own, best, ratio, kept } = lanes;
        let verdict = if *kept { "kept: results change in the last place" } else { "not kept" };
        say!("Rows of {hidden}: {best} lanes take {ratio:.2} of the time of {own}, {verdict}");
    }
    if !orders.is_empty() {
        say!("");
    }
    let mut rows = table::new(&["operation", "dtype", "shape", "rung: width x rows x turns", "", "time", "of own"], 5);
    for (job, tried) in jobs.iter().zip(contests) {
        let mut sorted: Vec<&Tried> = tried.iter().collect();
        sorted[1..].sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
        for (index, tried) in sorted.into_iter().enumerate() {
            let verdict = match (index, tried.kept) {
                (0, _) => "own choice".to_owned(),
                (_, true) => "kept".to_owned(),
                _ => String::new(),
            };
            let cells = [words(&tried.plan), verdict, table::time(tried.seconds), format!("{:.2}", tried.ratio)];
            rows.add_row(name(job).into_iter().chain(cells).collect::<Vec<_>>());
        }
    }
    table::print(&rows);
    say!(
        "\nOf own: the time over that of the plan's own choice, in turns with it. On a busy machine it means something, times do not."
    );
}

/// A norm a line, with everything that was tried.
pub fn json(device: &str, jobs: &[Job], contests: &[Vec<Tried>], orders: &[Lanes]) -> Value {
    let tried = |tried: &Tried| {
        json!({
            "plan": words(&tried.plan),
            "rung": tried.plan.rung.name(),
            "width": tried.plan.width,
            "seconds": tried.seconds,
            "of_own": tried.ratio,
            "kept": tried.kept,
        })
    };
    let norm = |(job, contest): (&Job, &Vec<Tried>)| {
        let [operation, dtype, _] = name(job);
        json!({
            "op": operation, "dtype": dtype, "rows": job.shape[0], "hidden": job.shape[1],
            "tried": contest.iter().map(tried).collect::<Vec<_>>(),
        })
    };
    let order = |lanes: &Lanes| json!({"hidden": lanes.hidden, "own": lanes.own, "lanes": lanes.best, "of_own": lanes.ratio, "kept": lanes.kept});
    json!({
        "device": device,
        "version": env!("CARGO_PKG_VERSION"),
        "norms": jobs.iter().zip(contests).map(norm).collect::<Vec<_>>(),
        "lanes": orders.iter().map(order).collect::<Vec<_>>(),
    })
}
