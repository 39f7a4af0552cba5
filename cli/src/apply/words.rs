//! What is done to the rows, in words.

use wgpu_rmsnorm::{AddOrder, DType, NormSpec, Shard, Slot, WeightOf};

use super::files::Files;

/// A heading and a line for everything beyond input, weight, bias and output.
pub fn lines(files: &Files, spec: &NormSpec) -> Vec<(&'static str, String)> {
    let file = |slot: Slot| files.get(slot).map_or(String::new(), ToString::to_string);
    let mut lines = Vec::new();
    lines.extend(spec.residual.map(|residual| {
        let how = match residual.order {
            AddOrder::After => "to the result",
            _ if !spec.unrounded_sum => "to the input, the sum normalised as it is written back",
            _ => "to the input, the sum normalised before it is rounded",
        };
        ("Added", format!("{}: {} residual {how}", file(Slot::Residual), residual.dtype))
    }));
    lines.extend(spec.gate.map(|gate| {
        let what = if gate.order == AddOrder::After { "result" } else { "input" };
        ("Gated", format!("{}: {} gate, whose {} multiplies the {what}", file(Slot::Gate), gate.dtype, spec.activation.name()))
    }));
    if spec.groups > 1 {
        let weight = match spec.weight_of {
            WeightOf::Group => ", which share a weight".to_owned(),
            WeightOf::QueryAndKey(query) => format!(", {query} query heads and {} key heads", spec.groups - query),
            _ => String::new(),
        };
        lines.push(("Groups", format!("{} of {} channels{weight}", spec.groups, spec.group_length())));
    }
    lines.extend(spec.statistics_length.map(|length| ("Partial", format!("statistics of the first {length} channels"))));
    lines.extend(spec.shard.map(|shard| match shard {
        Shard::Apply { total, shards } => {
            ("Part", format!("{}: statistics of {shards} parts, {total} channels in all", file(Slot::Statistics)))
        }
        _ => ("Part", "its statistics alone".to_owned()),
    }));
    lines.extend(spec.quantized.map(|quantized| match quantized.scale {
        Some(scale) => ("Codes", format!("{} by the scale {scale:e}", quantized.dtype)),
        None => ("Codes", format!("{} by a scale of each {}", quantized.dtype, if spec.groups > 1 { "group" } else { "row" })),
    }));
    lines
}

/// How many of the elements that are compared belong to which output, where there are several.
pub fn counts(spec: &NormSpec, rows: u64) -> Option<String> {
    let written = Slot::ALL.into_iter().filter(|slot| slot.is_written() && spec.dtype_of(*slot).is_some());
    let counts: Vec<String> = written.map(|slot| format!("{} {slot}", rows * spec.length_of(slot))).collect();
    (counts.len() > 1).then(|| counts.join(", "))
}

/// How a `.npy` file of a dtype that NumPy does not have is read in Python.
pub fn in_python(dtype: DType) -> Option<&'static str> {
    match dtype {
        DType::BF16 => Some("ml_dtypes.bfloat16"),
        DType::F8E4M3 => Some("ml_dtypes.float8_e4m3fn"),
        _ => None,
    }
}
