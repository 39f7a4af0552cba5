//! The choices of a plan as words, `name=value`: a line for each field of [`Force`], here and there.

use crate::plan::Force;

/// The choices that are made, as words.
pub(crate) fn words(choice: &Force) -> Vec<String> {
    let words = [
        choice.rung.map(|rung| format!("rung={}", rung.name())),
        choice.access.map(|access| format!("access={}", access.name())),
        choice.width.map(|width| format!("width={width}")),
        choice.reduction.map(|reduction| format!("reduction={}", reduction.name())),
        choice.workgroup.map(|invocations| format!("workgroup={invocations}")),
    ];
    words.into_iter().flatten().collect()
}

/// Makes the choice of a word. `None` for a word that is none.
pub(super) fn make(choice: &mut Force, word: &str) -> Option<()> {
    let (name, value) = word.split_once('=')?;
    match name {
        "rung" => choice.rung = Some(value.parse().ok()?),
        "access" => choice.access = Some(value.parse().ok()?),
        "width" => choice.width = Some(value.parse().ok().filter(|&width| width > 0)?),
        "reduction" => choice.reduction = Some(value.parse().ok()?),
        "workgroup" => choice.workgroup = Some(value.parse().ok().filter(|&invocations| invocations > 0)?),
        _ => return None,
    }
    Some(())
}
