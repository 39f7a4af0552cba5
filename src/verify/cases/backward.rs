//! Gradients.

use super::super::case::{Arrangement, Case, Lowered, Twin};
use super::super::data::{Regime, Weights};
use super::{HIDDEN, List};
use crate::dtype::DType;
use crate::plan::{Access, Force, Rung};
use crate::spec::NormSpec;

const KIND: &str = "backward";
const AS_GPU: Lowered = Lowered {
    max_binding: None,
    max_workgroups: None,
    max_invocations: None,
    workgroup_memory: None,
    as_gpu: true,
    storage_alignment: None,
};

/// The members of the family, by name.
fn members(hidden: u64, dtype: DType) -> Vec<(&'static str, NormSpec)> {
    let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype);
    let backward = |spec: NormSpec| spec.backward();
    let groups = if hidden.is_multiple_of(4) { 4 } else { 1 };
    vec![
        ("plain", backward(spec)),
        ("no weight", backward(spec.without_weight())),
        ("bias", backward(spec.bias(dtype))),
        ("weight offset", backward(NormSpec::gemma(hidden, 1e-6).dtype(dtype))),
        ("saved rstd", backward(spec).saved_rstd()),
        ("f32 parameters", backward(spec.bias(dtype)).parameter_gradients(DType::F32)),
        ("accumulating", backward(spec.bias(dtype)).accumulate()),
        ("input alone", backward(spec).without_parameter_gradients()),
        ("llama", backward(NormSpec::llama(hidden, 1e-6).dtype(dtype))),
        ("t5, f32 input", backward(NormSpec::t5(hidden, 1e-6).dtype(dtype).input(DType::F32))),
        ("stream", backward(spec.add_residual(DType::F32)).grad_residual_out(DType::F32)),
        ("stream, own dtype", backward(spec.add_residual(dtype)).grad_residual_out(dtype)),
        ("gated input", backward(spec.gate_input(dtype))),
        ("gated output", backward(spec.bias(dtype).gate_output(dtype))),
        ("gated output, llama", backward(NormSpec::llama(hidden, 1e-6).dtype(dtype).gate_output(dtype))),
        ("sigmoid input", backward(spec.gate_input(dtype).sigmoid())),
        ("sigmoid output", backward(spec.gate_output(dtype).sigmoid()).saved_rstd()),
        ("layer norm", backward(NormSpec::layer_norm(hidden, 1e-6).dtype(dtype))),
        ("layer norm, bias alone", backward(NormSpec::layer_norm(hidden, 1e-6).dtype(dtype).without_weight())),
        ("partial", backward(spec.partial(hidden.div_ceil(3)))),
        ("groups", backward(spec.groups(groups))),
        ("heads", backward(spec.heads(groups))),
        ("query and key heads", if groups > 1 { backward(spec.query_and_key_heads(3, 1)) } else { backward(spec) }),
        (
            "layer norm of heads, gated",
            backward(NormSpec::layer_norm(hidden, 1e-6).dtype(dtype).heads(groups).gate_output(dtype)),
        ),
    ]
}

/// Of all that is tried in f32, a third in each half type.
fn is_tried(dtype: DType, number: usize) -> bool {
    dtype == DType::F32 || (number + 1) % 3 == dtype as usize
}

pub(super) fn backward(list: &mut List) {
    sizes(list);
    family(list);
    numbers(list);
    placement(list);
    rows(list);
}

fn add(list: &mut List, name: String, spec: NormSpec, rows: u64, quick: bool, change: &dyn Fn(Case) -> Case) {
    list.push(change(Case::new(KIND, name, spec, rows)).quick_if(quick));
}

fn sizes(list: &mut List) {
    for (d, dtype) in DType::ALL.into_iter().enumerate() {
        for (h, hidden) in HIDDEN.into_iter().enumerate() {
            let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype).backward();
            add(list, format!("{hidden} {dtype}"), spec, 5, h % 12 == 4 * d, &|case| case);
        }
        // The last has more octets than an axis has workgroups.
        for hidden in [16_384, 40_000, 131_072, 600_001] {
            let spec = NormSpec::layer_norm(hidden, 1e-6).dtype(dtype).backward();
            add(list, format!("{hidden} {dtype}"), spec, 3, hidden == 40_000 && d == 1, &|case| case);
        }
    }
    for input in DType::ALL {
        for weight in DType::ALL {
            let spec = NormSpec::torch(72, 1e-6).input(input).weight(weight).backward();
            add(list, format!("{input} by {weight}"), spec, 20, input != weight, &|case| case);
        }
    }
}

fn family(list: &mut List) {
    for (d, dtype) in DType::ALL.into_iter().enumerate() {
        for hidden in [96, 100, 101] {
            for (m, (name, spec)) in members(hidden, dtype).into_iter().enumerate() {
                add(list, format!("{name}, {hidden} {dtype}"), spec, 37, (m + hidden as usize) % 12 == 4 * d, &|case| case);
                add(list, format!("{name}, {hidden} {dtype}, as on a GPU"), spec, 37, false, &|case| case.lowered(AS_GPU));
            }
        }
    }
}

fn numbers(list: &mut List) {
    for (d, dtype) in DType::ALL.into_iter().enumerate() {
        for (m, (name, spec)) in members(100, dtype).into_iter().enumerate() {
            let eps_0 = NormSpec { eps: 0.0, ..spec };
            for (r, (what, regime, beside)) in [
                ("any finite", Regime::AnyFinite, None),
                ("mixed rows", Regime::Mixed, None),
                ("mixed rows, ordinary gradients", Regime::Mixed, Some(Regime::Normal(1.0))),
                ("tiny gradients", Regime::Normal(1.0), Some(Regime::Normal(1e-30))),
                ("huge gradients", Regime::Normal(1.0), Some(Regime::Normal(1e30))),
                ("subnormal gradients", Regime::Normal(1.0), Some(Regime::Subnormal)),
                ("zeros", Regime::Constant(0.0), Some(Regime::Normal(1.0))),
                ("a spike", Regime::Spike(1e4, 1e-3), Some(Regime::Outliers)),
                ("a far mean", Regime::About { mean: 1000.0, spread: 1.0 }, Some(Regime::Normal(1.0))),
                ("far behind what is summed", Regime::Spike(3e37, 0.1), Some(Regime::Normal(1.0))),
                ("gates that are all but shut", Regime::Normal(1.0), Some(Regime::Constant(-100.0))),
                ("NaN and infinity", Regime::Spoiled, Some(Regime::Normal(1.0))),
                ("NaN and infinite gradients", Regime::Normal(1.0), Some(Regime::Spoiled)),
                ("the largest gradients", Regime::Normal(1e10), Some(Regime::Alternating(3e38))),
                ("small rows and gradients", Regime::Normal(1e-9), Some(Regime::Normal(1e-18))),
                ("large rows and gradients", Regime::Normal(1e16), Some(Regime::Normal(1e22))),
            ]
            .into_iter()
            .enumerate()
            {
                let weights = if r % 2 == 0 && regime != Regime::Spoiled { Weights::AnyFinite } else { Weights::Usual };
                if !is_tried(dtype, m + r) {
                    continue;
                }
                let is_quick = (5 * m + r) % 48 == 16 * d;
                add(list, format!("{name} {dtype}, {what}, eps 0"), eps_0, 10, is_quick, &|case| {
                    let case = case.regime(regime).weights(weights);
                    beside.map_or(case.clone(), |beside| case.beside(beside))
                });
            }
        }
    }
    let spec = NormSpec::torch(4, 1e-5).backward();
    add(list, "F5, a row of zeros".into(), spec, 1, true, &|case| {
        case.regime(Regime::Constant(0.0)).beside(Regime::Constant(3.0))
    });
    let spec = NormSpec::torch(4, 1e-4).without_weight().backward();
    add(list, "H1, a spike, in place of the gradient".into(), spec, 1, true, &|case| {
        let in_place = Arrangement { in_place: true, ..Default::default() };
        case.regime(Regime::Spike(3.0, 0.0)).beside(Regime::Spike(3.0, 0.0)).arranged(in_place)
    });
    let spec = NormSpec::torch(8, 1e-5).bias(DType::F32).backward();
    add(list, "I1, 70000 rows of 2 x 4".into(), spec, 70_000, true, &|case| case);
    let spec = NormSpec::layer_norm(8, 1e-5).without_weight().backward();
    add(list, "I10, LayerNorm with a bias alone, 70000 rows".into(), spec, 70_000, true, &|case| case);
    let spec = NormSpec::torch(1024, 1e-6).dtype(DType::BF16).backward();
    add(list, "I3, 2048 rows of 1024 bf16".into(), spec, 2048, false, &|case| case);
    let spec = NormSpec::torch(2048, 1e-6).backward();
    add(list, "I4, 4096 rows of 2048".into(), spec, 4096, false, &|case| case.twin(Twin::Repeated(5)));
}

fn placement(list: &mut List) {
    let in_place = Arrangement { in_place: true, ..Default::default() };
    let beside = Arrangement { residual_in_place: true, ..Default::default() };
    for (d, dtype) in DType::ALL.into_iter().enumerate() {
        for hidden in [96, 101] {
            for (m, (name, spec)) in members(hidden, dtype).into_iter().enumerate() {
                let odd_dtype = spec.backward.is_some_and(|backward| backward.grad_output != backward.grad_input);
                for (a, (what, arrangement)) in [
                    ("I6, in place", in_place),
                    ("in place, offset 3", Arrangement { offset: 3, ..in_place }),
                    ("stream or gate in place", beside),
                    ("stream or gate in place, offset 1, gap 2", Arrangement { offset: 1, gap: 2, ..beside }),
                    ("offset 1", Arrangement { offset: 1, ..Default::default() }),
                    ("gap 5", Arrangement { gap: 5, ..Default::default() }),
                    ("uneven gaps", Arrangement { uneven: true, ..Default::default() }),
                    ("arena", Arrangement { arena: true, offset: 1, ..Default::default() }),
                    ("arena, paged", Arrangement { arena: true, paged: true, ..Default::default() }),
                ]
                .into_iter()
                .enumerate()
                {
                    let replaces = spec.gate.is_some() || spec.dtype_of(crate::slot::Slot::GradResidualOut).is_some();
                    if arrangement.in_place && odd_dtype || arrangement.residual_in_place && !replaces {
                        continue;
                    }
                    if !is_tried(dtype, m + a) {
                        continue;
                    }
                    let is_quick = (7 * m + 3 * a + hidden as usize) % 60 == 20 * d;
                    add(list, format!("{name}, {hidden} {dtype}, {what}"), spec, 21, is_quick, &|case| {
                        case.arranged(arrangement)
                    });
                }
            }
        }
    }
}

fn rows(list: &mut List) {
    for (d, dtype) in DType::ALL.into_iter().enumerate() {
        for (m, (name, spec)) in members(100, dtype).into_iter().enumerate() {
            if !is_tried(dtype, m) {
                continue;
            }
            let quick = |way: usize| (5 * m + way) % 48 == 16 * d;
            for (w, rung) in [Rung::Looped, Rung::Multi, Rung::Solo].into_iter().enumerate() {
                let force = Force::default().rung(rung);
                add(list, format!("{name} {dtype}, {}", rung.name()), spec, 300, quick(w), &|case| case.forced(force));
            }
            let force = Force::default().rung(Rung::Looped).width(1).access(Access::Word);
            add(list, format!("{name} {dtype}, one invocation, by words"), spec, 70, quick(3), &|case| case.forced(force));
            add(list, format!("{name} {dtype}, as on a GPU"), spec, 300, quick(4), &|case| case.lowered(AS_GPU));
            let narrow = Lowered { max_binding: Some(16_384), ..Default::default() };
            add(list, format!("{name} {dtype}, bindings of 16 KiB"), spec, 300, quick(5), &|case| case.lowered(narrow));
            add(list, format!("{name} {dtype}, 123 of 3000 rows"), spec, 3000, quick(6), &|mut case| {
                case.recorded = Some(123);
                case.twin(Twin::NoMore)
            });
            add(list, format!("{name} {dtype}, rows alone"), spec, 130, quick(7), &|case| {
                case.twin(Twin::RowsAlone(vec![0, 1, 64, 129]))
            });
            add(list, format!("{name} {dtype}, again and again"), spec, 100, quick(8), &|case| case.twin(Twin::Repeated(20)));
        }
    }
}
