//! What a comparison with the reference found, in words and for machines.

use serde_json::{Value, json};
use wgpu_rmsnorm::DType;
use wgpu_rmsnorm::verify::{Mismatch, Outcome};

use crate::output::{BAD, GOOD};

/// One line.
pub fn verdict(outcome: &Outcome, output: DType) -> String {
    let Outcome { elements, wrong, worst_ulp, worst_scale_ulp, misrounded, nan, .. } = outcome;
    if *wrong == 0 {
        let unit = if output.is_code() { "steps" } else { "ULP" };
        let scales = match worst_scale_ulp {
            0.0 => String::new(),
            ulp => format!(" (scales within {ulp:.3} ULP of f32)"),
        };
        let nan = if *nan == 0 { String::new() } else { format!("; {nan} are NaN, as they must be") };
        return format!(
            "{elements} elements: {GOOD}all right{GOOD:#}, within {worst_ulp:.3} {unit} of float64{scales}; {misrounded} are a neighbour of the \
             nearest {output}, as is allowed{nan}"
        );
    }
    let first = outcome.mismatches.first().map_or(String::new(), |first| {
        let Mismatch { index, got, truth, allowed, .. } = first;
        format!(", the first at {index}: {got:e} where {truth:e} is right, within {allowed:e}")
    });
    format!("{elements} elements: {BAD}{wrong} WRONG{BAD:#}{first}")
}

/// The same as JSON. Numbers that JSON cannot hold, NaN and infinity, are text.
pub fn json(outcome: &Outcome) -> Value {
    let number = |value: f64| if value.is_finite() { json!(value) } else { json!(value.to_string()) };
    let mismatch =
        |m: &Mismatch| json!({"index": m.index, "got": number(m.got), "truth": number(m.truth), "allowed": number(m.allowed)});
    json!({
        "elements": outcome.elements,
        "wrong": outcome.wrong,
        "worst_ulp": outcome.worst_ulp,
        "worst_scale_ulp": outcome.worst_scale_ulp,
        "misrounded": outcome.misrounded,
        "nan": outcome.nan,
        "first_wrong": outcome.mismatches.iter().map(mismatch).collect::<Vec<_>>(),
    })
}
