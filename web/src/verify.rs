//! Cases and their reports as objects.

use wasm_bindgen::JsValue;
use wgpu_rmsnorm::verify::{Case, CaseReport, Status, Tier};

use crate::fields::object;

/// The fields of a case, as index.d.ts has them.
pub const CASE_FIELDS: [&str; 4] = ["index", "tier", "kind", "name"];

/// A case.
pub fn case_to_js(index: usize, case: &Case) -> JsValue {
    let tier = if case.tier == Tier::Quick { "quick" } else { "full" };
    let values: [JsValue; 4] = [index.into(), tier.into(), case.kind.into(), case.name.as_str().into()];
    object(&CASE_FIELDS.into_iter().zip(values).collect::<Vec<_>>())
}

/// What came of a case.
pub fn report_to_js(report: &CaseReport) -> JsValue {
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
