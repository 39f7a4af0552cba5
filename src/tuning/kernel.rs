//! What tells the kernels of norms apart, as text.

use crate::groups::WeightOf;
use crate::residual::AddOrder;
use crate::slot::Slot;
use crate::spec::NormSpec;

/// A norm without what is a mere number to its kernel (eps, the offset of weights, the scale of codes): words with commas between
/// them, the same in every version that knows the norm.
pub(super) fn key(spec: &NormSpec) -> String {
    let mut words = vec![spec.operation().to_owned(), format!("hidden={}", spec.hidden)];
    words.extend(Slot::ALL.into_iter().filter_map(|slot| Some(format!("{slot}={}", spec.dtype_of(slot)?))));
    if spec.groups > 1 {
        words.push(format!("groups={}", spec.groups));
        words.push(match spec.weight_of {
            WeightOf::Row => "weight_of=row".to_owned(),
            WeightOf::Group => "weight_of=group".to_owned(),
            WeightOf::QueryAndKey(queries) => format!("weight_of=queries:{queries}"),
        });
    }
    words.extend(spec.statistics_length.map(|length| format!("statistics_length={length}")));
    words.extend(spec.shards().map(|shards| format!("shards={shards}")));
    words.extend(spec.normalized_dtype().map(|dtype| format!("normalized={dtype}")));
    if let Some(residual) = spec.residual {
        words.push(format!("add={}", order(residual.order)));
        words.push(format!("rounded_sum={}", !spec.unrounded_sum));
    }
    if let Some(gate) = spec.gate {
        words.push(format!("gated={}", order(gate.order)));
        words.push(format!("activation={}", spec.activation.name()));
        words.push(format!("rounded_gate={}", gate.rounded));
    }
    words.push(format!("norm={}", spec.norm_dtype()));
    words.join(",")
}

fn order(order: AddOrder) -> &'static str {
    match order {
        AddOrder::Before => "before",
        AddOrder::After => "after",
    }
}
