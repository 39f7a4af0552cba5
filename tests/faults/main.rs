//! Every check can fail: deliberately broken kernels are caught by the case list.
//!
//! A fault is a piece of a kernel's text and what it is replaced by. It counts as caught where a case that passes on the sound
//! kernel fails on the broken one.

mod backward;
#[path = "../common/mod.rs"]
mod common;
mod family;
mod kernel;
mod rungs;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use wgpu_rmsnorm::Gpu;
use wgpu_rmsnorm::verify::{Case, Status, Tier, cases, kernels, run_case};

struct Fault {
    name: &'static str,
    from: &'static str,
    to: &'static str,
    /// The case that catches it, by its name, or by its kind and name.
    case: &'static str,
    /// Part of the name of the adapters on which it shows; empty for all.
    shows_on: &'static str,
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let all = cases(Tier::Full);
    let mut trials = Vec::new();
    common::each_adapter(&mut trials, |trials, adapter, name, devices| {
        let faults = kernel::FAULTS.iter().chain(family::FAULTS).chain(rungs::FAULTS).chain(backward::FAULTS);
        let takes = |index: usize, fault: &Fault| match fault.shows_on {
            "" => devices.takes(index),
            adapters => adapter.matches(adapters),
        };
        for (_, fault) in faults.enumerate().filter(|(index, fault)| takes(*index, fault)) {
            let case = all.iter().find(|c| c.name == fault.case || format!("{}: {}", c.kind, c.name) == fault.case).cloned();
            let devices = devices.clone();
            let name = format!("[{name}] {}", fault.name);
            trials.push(Trial::test(name, move || devices.run(|gpu| caught(gpu, fault, case))));
        }
    });
    if trials.is_empty() {
        trials.push(Trial::test("an adapter", || Err("none was found".into())));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn caught(gpu: &Gpu, fault: &Fault, case: Option<Case>) -> Result<(), Failed> {
    let Some(case) = case else { return Err(format!("no case {:?}", fault.case).into()) };
    if !kernels(gpu, &case)?.iter().any(|shader| shader.wgsl.contains(fault.from)) {
        return Err(format!("no kernel of {:?} has {:?}", case.name, fault.from).into());
    }
    let sound = pollster::block_on(run_case(gpu, &case)).status;
    if sound != Status::Passed {
        return Err(format!("the sound kernel fails already: {sound:?}").into());
    }
    match pollster::block_on(run_case(&gpu.with_fault(fault.from, fault.to), &case)).status {
        Status::Failed(_) => Ok(()),
        other => Err(format!("not caught: {other:?}").into()),
    }
}
