//! Every adapter, what it offers, and what the planner would do there.

use std::process::ExitCode;

use serde_json::{Value, json};
use wgpu_rmsnorm::{Adapter, DType, Gpu, GpuOptions, Layout, NormSpec, Plan, Preset, SelfTest};

use crate::Context;
use crate::choice::no_adapter;
use crate::explain::host;
use crate::failure::Failure;
use crate::output::say;

/// Rows and channels of the shapes that are planned as examples: one token, a prompt, the heads of a prompt.
const SHAPES: [(u64, u64); 3] = [(1, 4096), (2048, 4096), (65_536, 128)];

/// Lists the adapters. Without one, says what brings one.
pub fn run(context: &Context) -> Result<ExitCode, Failure> {
    let report = context.json.report()?;
    let adapters = context.choice.adapters()?;
    if adapters.is_empty() {
        return Err(no_adapter());
    }
    let mut all = Vec::new();
    for adapter in &adapters {
        let device = look(adapter);
        if report.wants_text() {
            device.print(adapter);
        }
        all.push(device.json(adapter));
    }
    report.write(&all.into())?;
    Ok(ExitCode::SUCCESS)
}

/// An opened device, or why it did not open.
struct Device {
    gpu: Result<Gpu, String>,
    test: Result<SelfTest, String>,
}

fn look(adapter: &Adapter) -> Device {
    let opened = pollster::block_on(Gpu::open(adapter, &GpuOptions::default().without_self_test()));
    let test = match &opened {
        Ok(gpu) => pollster::block_on(gpu.self_test()).map_err(|e| e.to_string()),
        Err(error) => Err(error.to_string()),
    };
    Device { gpu: opened.map_err(|e| e.to_string()), test }
}

impl Device {
    fn plans(&self) -> Vec<Plan> {
        let Ok(gpu) = &self.gpu else { return Vec::new() };
        let plan = |(rows, hidden)| {
            let spec = NormSpec::llama(hidden, 1e-5).dtype(DType::F16);
            Plan::new(&spec, gpu.caps(), &Layout::contiguous(&spec, rows), rows).ok()
        };
        SHAPES.into_iter().filter_map(plan).collect()
    }

    fn verdict(&self) -> String {
        match &self.test {
            Err(error) => error.clone(),
            Ok(test) => {
                let word = |passed: bool| if passed { "passed" } else { "FAILED" };
                let rungs = test.outcomes.iter().map(|(rung, _)| format!("{} {}", rung.name(), word(test.passed(*rung))));
                let subgroups = test.subgroups.map(|passed| format!("subgroups {}", word(passed)));
                rungs.chain(subgroups).collect::<Vec<_>>().join(", ")
            }
        }
    }

    fn print(&self, adapter: &Adapter) {
        let info = adapter.info();
        say!("{}", info.name);
        say!("  backend    {:?}, {:?}", info.backend, info.device_type);
        say!("  driver     {} {}", info.driver, info.driver_info);
        match &self.gpu {
            Err(error) => say!("  opened     no: {error}\n"),
            Ok(gpu) => {
                say!(
                    "  f16        {}",
                    if has_f16(adapter) {
                        "native, and not needed: halves are decoded from words"
                    } else {
                        "not native, and not needed: halves are decoded from words"
                    }
                );
                say!("  plan sees  {}", gpu.caps());
                say!("  self-test  {}", self.verdict());
                for plan in self.plans() {
                    say!(
                        "  f16 {:>6} x {:<5} {}, workgroups of {}, {} a row, {} rows a workgroup, sums in {} lanes",
                        plan.rows,
                        plan.spec.hidden,
                        plan.rung.name(),
                        plan.workgroup_size(),
                        plan.width,
                        plan.rows_per_group(),
                        plan.order.lanes
                    );
                }
                say!("");
            }
        }
    }

    fn json(&self, adapter: &Adapter) -> Value {
        let info = adapter.info();
        let caps = self.gpu.as_ref().ok().map(|gpu| host::caps(gpu.caps()));
        let plan = |plan: &Plan| json!({"norm": host::norm(&plan.spec, Preset::Llama), "plan": host::plan(plan)});
        json!({
            "name": info.name,
            "driver": info.driver,
            "driver_info": info.driver_info,
            "backend": format!("{:?}", info.backend),
            "type": format!("{:?}", info.device_type),
            "shader_f16": has_f16(adapter),
            "caps": caps,
            "error": self.gpu.as_ref().err(),
            "self_test": self.verdict(),
            "plans": self.plans().iter().map(plan).collect::<Vec<_>>(),
        })
    }
}

fn has_f16(adapter: &Adapter) -> bool {
    adapter.wgpu().features().contains(wgpu_rmsnorm::wgpu::Features::SHADER_F16)
}
