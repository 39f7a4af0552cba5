//! A plan as JSON: all that another host needs to run it.

use serde_json::{Value, json};
use wgpu_rmsnorm::plan::{Binding, Channels, Chunk, Params};
use wgpu_rmsnorm::shader::Bound;
use wgpu_rmsnorm::{AddOrder, Caps, DType, NormSpec, Plan, Preset, Reduction, Shader, Shard, WeightOf};

use crate::output::number;

pub fn caps(caps: &Caps) -> Value {
    json!({
        "subgroup_min": caps.subgroup_min,
        "subgroup_max": caps.subgroup_max,
        "subgroups": caps.subgroups,
        "max_binding": caps.max_binding,
        "max_buffer": caps.max_buffer,
        "storage_alignment": caps.storage_alignment,
        "uniform_alignment": caps.uniform_alignment,
        "max_workgroups": caps.max_workgroups,
        "max_invocations": caps.max_invocations,
        "workgroup_memory": caps.workgroup_memory,
        "max_storage_buffers": caps.max_storage_buffers,
        "long_words": caps.long_words,
    })
}

pub fn norm(spec: &NormSpec, preset: Preset) -> Value {
    json!({
        "operation": spec.operation(),
        "preset": preset.name(),
        "hidden": spec.hidden,
        "eps": number(spec.eps),
        "input": spec.input.name(),
        "weight": spec.weight.map(DType::name),
        "weight_offset": number(spec.weight_offset),
        "weight_of": weight_of(spec),
        "weight_length": spec.weight_length(),
        "bias": spec.bias.map(DType::name),
        "groups": spec.groups,
        "statistics_length": spec.statistics_length(),
        "residual": spec.residual.map(|residual| json!({
            "dtype": residual.dtype.name(),
            "order": order(residual.order),
            "rounded": !spec.unrounded_sum,
        })),
        "gate": spec.gate.map(|gate| json!({
            "dtype": gate.dtype.name(),
            "activation": spec.activation.name(),
            "order": order(gate.order),
            "rounded": gate.rounded,
        })),
        "rstd": spec.rstd,
        "backward": spec.backward.map(|backward| json!({
            "grad_output": backward.grad_output.name(),
            "grad_residual_out": backward.grad_residual_out.map(DType::name),
            "grad_gate": backward.grad_gate.map(DType::name),
            "grad_weight": backward.grad_weight.map(DType::name),
            "grad_bias": backward.grad_bias.map(DType::name),
            "saved_rstd": backward.saved_rstd,
            "accumulate": backward.accumulate,
        })),
        "quantized": spec.quantized.map(|quantized| json!({
            "dtype": quantized.dtype.name(),
            "scale": quantized.scale.map(number),
        })),
        "shard": match spec.shard {
            Some(Shard::Apply { total, shards }) => json!({"total": total, "shards": shards}),
            _ => Value::Null,
        },
        "output": spec.output_dtype().name(),
    })
}

fn order(order: AddOrder) -> &'static str {
    if order == AddOrder::After { "after" } else { "before" }
}

fn weight_of(spec: &NormSpec) -> Value {
    match spec.weight_of {
        WeightOf::Group => json!("group"),
        WeightOf::QueryAndKey(query) => json!({"query_heads": query, "key_heads": spec.groups.saturating_sub(query)}),
        _ => json!("row"),
    }
}

pub fn plan(plan: &Plan) -> Value {
    json!({
        "rows": plan.rows,
        "rung": plan.rung.name(),
        "width": plan.width,
        "rows_at_once": plan.rows_at_once,
        "rounds": plan.rounds,
        "rows_per_workgroup": plan.rows_per_group(),
        "workgroup_size": plan.workgroup_size(),
        "lanes": plan.order.lanes,
        "kept_octets": plan.kept,
        "pieces_per_row": plan.pieces,
        "blocks": plan.blocks.as_ref().map(|blocks| json!({
            "count": blocks.count,
            "rows": blocks.rows,
            "team": blocks.team,
            "batch": blocks.batch,
            "strip": blocks.strip,
            "leaf": blocks.leaf,
        })),
        "reduction": plan.reduction.map(Reduction::name),
        "tuned": {"choice": plan.tuned.choice, "lanes": plan.tuned.lanes},
    })
}

pub fn kernel(plan: &Plan, shader: &Shader) -> Value {
    json!({
        "label": shader.label,
        "entry_point": Shader::ENTRY,
        "workgroup_size": [plan.workgroup_size(), 1, 1],
        "wgsl": shader.wgsl,
    })
}

/// What is held besides the caller's buffers: by a prepared norm, by a norm that is bound to nothing, by a device for all norms.
pub fn held(plan: &Plan) -> Value {
    let of_rows = if plan.chunks.is_empty() { 0 } else { 1 + usize::from(plan.pieces > 1) };
    let kernels = of_rows + usize::from(plan.last_dispatch().is_some());
    json!({
        "prepared": {"device_bytes": plan.held_bytes(), "bind_groups": plan.params().count()},
        "norm": {"device_bytes": 0},
        "gpu": {"device_bytes": plan.caps.held_bytes(), "kernels": kernels},
    })
}

/// Every binding of group 0, by its number.
pub fn bindings(plan: &Plan, bindings: &[Binding], shader: &Shader) -> Value {
    let entry = |(number, bound): (usize, &Bound)| match *bound {
        Bound::Params => json!({
            "binding": number, "type": "uniform", "dynamic_offset": false, "bytes": size_of::<Params>(),
            "holds": "params",
        }),
        Bound::RowDigit(digit) => json!({
            "binding": number, "type": "uniform", "dynamic_offset": true, "bytes": 16,
            "holds": "row_digit", "digit": digit,
        }),
        Bound::Scratch => json!({
            "binding": number, "type": "storage", "dynamic_offset": false, "bytes": plan.scratch_bytes(), "holds": "scratch",
        }),
        Bound::Storage(index) => {
            let binding = &bindings[index];
            json!({
                "binding": number,
                "type": if binding.writable { "storage" } else { "read-only-storage" },
                "dynamic_offset": false,
                "holds": "operands",
                "operands": binding.operands.iter().map(|slot| slot.name()).collect::<Vec<_>>(),
                "buffer": binding.buffer,
            })
        }
    };
    shader.bindings.iter().enumerate().map(entry).collect()
}

/// Every dispatch, for all rows that were planned: its uniform as 32-bit words, its digits, the ranges to bind, its grid.
pub fn dispatches(plan: &Plan, shader: &Shader) -> Value {
    let of_chunk = |chunk: &Chunk| dispatch(plan, shader, chunk, plan.grid(chunk, chunk.rows));
    plan.chunks.iter().map(of_chunk).collect()
}

/// What is dispatched once, after all chunks of a backward pass: a kernel with bindings of its own. Null where there is nothing.
pub fn last(plan: &Plan) -> Value {
    let (Some(channels), Some(shader)) = (plan.last_dispatch(), plan.last_shader()) else { return Value::Null };
    let mut chunk = channels.chunk.clone();
    chunk.rows = plan.rows;
    json!({
        "kernel": {
            "label": shader.label,
            "entry_point": Shader::ENTRY,
            "workgroup_size": [Channels::WORKGROUP_SIZE, 1, 1],
            "wgsl": shader.wgsl,
        },
        "bindings": bindings(plan, &channels.bindings, &shader),
        "dispatch": dispatch(plan, &shader, &chunk, channels.grid),
    })
}

fn dispatch(plan: &Plan, shader: &Shader, chunk: &Chunk, [x, y]: [u32; 2]) -> Value {
    let storage = shader.bindings.iter().enumerate().filter(|(_, b)| matches!(b, Bound::Storage(_))).map(|(n, _)| n);
    let ranges =
        storage.zip(&chunk.ranges).map(|(number, (offset, size))| json!({"binding": number, "offset": offset, "size": size}));
    json!({
        "first_row": chunk.first_row,
        "rows": chunk.rows,
        "params": chunk.params.words().to_vec(),
        // The kernel counts each group of a row.
        "row_digits": Plan::digits_of(plan.inner_rows(chunk.rows)),
        "ranges": ranges.collect::<Vec<_>>(),
        "grid": [x, y, 1],
        "rows_before": plan.rows_before(chunk),
    })
}
