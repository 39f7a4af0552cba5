//! The case list on every adapter, a named test each.
//!
//! `WGPU_RMSNORM_TIER=full` runs all of it on all of them; in the quick tier they take turns.
//! `WGPU_RMSNORM_REQUIRE=llvmpipe,SwiftShader` fails where one of these is missing; without it, the tests run on whatever is found, and
//! fail where nothing is.

mod common;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use wgpu_rmsnorm::verify::{Case, PIPELINES_TO_KEEP, Status, Tier, cases, run_case};
use wgpu_rmsnorm::{Caps, Gpu, adapters};

/// In the quick tier every so many cases run with runtime checks and 32-bit words too.
const CHECKED_EVERY: usize = 24;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let tier = common::tier();
    let found = pollster::block_on(adapters(false));
    let mut trials = vec![required(&found)];
    common::each_adapter(&mut trials, |trials, _, name, devices| {
        // Kernels go without runtime checks, and on software drivers by 64-bit words; some of the cases, in the full tier all, see to
        // it that neither makes a difference.
        let checked = |gpu: &Gpu| gpu.with_runtime_checks().with_caps(Caps { long_words: false, ..*gpu.caps() });
        let every = if tier == Tier::Full { 1 } else { CHECKED_EVERY };
        for (index, case) in cases(tier).into_iter().enumerate().filter(|(index, _)| devices.takes(*index)) {
            if index % every == 0 {
                let name = format!("[{name}] with runtime checks and 32-bit words, {}: {}", case.kind, case.name);
                let (devices, case) = (devices.clone(), case.clone());
                trials.push(Trial::test(name, move || devices.run(|gpu| passes(&checked(gpu), &case))));
            }
            let devices = devices.clone();
            let name = format!("[{name}] {}: {}", case.kind, case.name);
            trials.push(Trial::test(name, move || devices.run(|gpu| passes(gpu, &case))));
        }
    });
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn passes(gpu: &Gpu, case: &Case) -> Result<(), Failed> {
    let report = pollster::block_on(run_case(gpu, case));
    gpu.trim_pipelines(PIPELINES_TO_KEEP);
    match report.status {
        Status::Passed => Ok(()),
        Status::Failed(complaint) | Status::Broken(complaint) => Err(Failed::from(complaint)),
        // Nothing may be left out in silence: what an adapter cannot do belongs on a list.
        Status::Skipped(reason) => Err(Failed::from(format!("skipped: {reason}"))),
        other => Err(Failed::from(format!("{other:?}"))),
    }
}

/// Every adapter that the environment asks for was found, and at least one.
fn required(found: &[wgpu_rmsnorm::Adapter]) -> Trial {
    let listed: Vec<String> = found.iter().map(ToString::to_string).collect();
    let wanted = std::env::var("WGPU_RMSNORM_REQUIRE").unwrap_or_default();
    let missing: Vec<String> = wanted
        .split(',')
        .filter(|name| !name.is_empty() && !found.iter().any(|adapter| adapter.matches(name)))
        .map(str::to_owned)
        .collect();
    Trial::test("adapters", move || match (listed.is_empty(), missing.is_empty()) {
        (true, _) => Err("no adapter: ./scripts/test installs software ones".into()),
        (_, false) => Err(format!("missing {missing:?} among {listed:?}").into()),
        _ => Ok(()),
    })
}
