//! The verification's cases and their reports as objects.

use std::sync::LazyLock;

use js_sys::{Array, Promise};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::future_to_promise;
use wgpu_rmsnorm::verify::{Case, CaseReport, PIPELINES_TO_KEEP, Status, Tier, cases, kernels, run_case};

use crate::error::{Refused, Result, describe};
use crate::fields::{Fields, object};
use crate::gpu::Gpu;

static LIST: LazyLock<Vec<Case>> = LazyLock::new(|| cases(Tier::Full));

/// The fields of a case, as lab.d.ts has them.
const CASE_FIELDS: [&str; 4] = ["index", "tier", "kind", "name"];

#[wasm_bindgen]
impl Gpu {
    /// The cases.
    pub fn cases(&self, tier: &JsValue) -> Result<Array> {
        let tier = match tier.as_string().as_deref() {
            Some("quick") => Tier::Quick,
            Some("full") => Tier::Full,
            _ => {
                let remedy = "choose one of these";
                return Err(Refused::Argument.because("tier", "\"quick\" or \"full\"", &describe(tier), remedy));
            }
        };
        let chosen = LIST.iter().enumerate().filter(|(_, case)| case.tier <= tier);
        Ok(chosen.map(|(index, case)| case_to_js(index, case)).collect())
    }

    /// Runs one of them.
    pub fn run_case(&self, case: &JsValue) -> Result<Promise> {
        let (case, gpu) = (case_from_js(case)?, self.0.clone());
        Ok(future_to_promise(async move {
            let report = run_case(&gpu, case).await;
            gpu.trim_pipelines(PIPELINES_TO_KEEP);
            Ok(report_to_js(&report))
        }))
    }

    /// The kernels that one of them is run by.
    pub fn kernels(&self, case: &JsValue) -> Result<Array> {
        let kernels = kernels(&self.0, case_from_js(case)?)?;
        let to_js = |kernel: &wgpu_rmsnorm::Shader| {
            object(&[("label", kernel.label.as_str().into()), ("wgsl", kernel.wgsl.as_str().into())])
        };
        Ok(kernels.iter().map(to_js).collect())
    }
}

fn case_to_js(index: usize, case: &Case) -> JsValue {
    let tier = if case.tier == Tier::Quick { "quick" } else { "full" };
    let values: [JsValue; 4] = [index.into(), tier.into(), case.kind.into(), case.name.as_str().into()];
    object(&CASE_FIELDS.into_iter().zip(values).collect::<Vec<_>>())
}

fn case_from_js(case: &JsValue) -> Result<&'static Case> {
    let fields = Fields::new("case", case, &CASE_FIELDS, Refused::Argument)?;
    let found = fields.whole("index")?.and_then(|index| LIST.get(index as usize));
    found.ok_or_else(|| Refused::Argument.because("case", "one of `cases`", &describe(case), "pass one of these"))
}

/// What came of a case.
fn report_to_js(report: &CaseReport) -> JsValue {
    let (status, reason) = match &report.status {
        Status::Passed => ("passed", None),
        Status::Failed(reason) => ("failed", Some(reason.as_str())),
        Status::Skipped(reason) => ("skipped", Some(reason.as_str())),
        Status::Broken(reason) => ("broken", Some(reason.as_str())),
        _ => ("broken", Some("a status that this package does not know")),
    };
    let mut fields: Vec<(&str, JsValue)> = vec![
        ("kind", report.kind.into()),
        ("name", report.name.as_str().into()),
        ("dtype", report.output.name().into()),
        ("status", status.into()),
        ("elements", report.outcome.elements.into()),
        ("worst_ulp", report.outcome.worst_ulp.into()),
    ];
    fields.extend(reason.map(|reason| ("reason", reason.into())));
    object(&fields)
}
