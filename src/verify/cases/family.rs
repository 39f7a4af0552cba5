//! What stands around a norm in a model, fused with it.

use super::super::case::{Arrangement, Case, Lowered, Twin};
use super::super::data::{Regime, Weights};
use super::List;
use crate::dtype::DType;
use crate::plan::{Access, Force, Rung};
use crate::preset::Preset;
use crate::spec::NormSpec;

const ADD: &str = "residual added before";

pub(super) fn residual_added(list: &mut List) {
    let mut add = |name: String, spec: NormSpec, rows: u64, change: &dyn Fn(Case) -> Case| {
        let rounded = !spec.unrounded_sum;
        let case = change(Case::new(ADD, name, spec, rows));
        // Whatever else it is held to, a rounded sum gives the bits of an addition and a norm.
        let twin = if rounded && case.twin == Twin::None { Twin::Unfused } else { case.twin.clone() };
        list.push(case.twin(twin));
    };
    let as_it_is = |case: Case| case;
    let full = |case: Case| case.full();
    for input in DType::ALL {
        for residual in DType::ALL {
            let even = (input as usize + residual as usize).is_multiple_of(2);
            for (hidden, quick) in [(96, even), (129, !even), (7, false), (1030, false)] {
                let spec = NormSpec::torch(hidden, 1e-6).dtype(input).add_residual(residual);
                let tier: &dyn Fn(Case) -> Case = if quick { &as_it_is } else { &full };
                add(format!("{input} + {residual}, hidden {hidden}"), spec, 9, tier);
                add(format!("{input} + {residual}, hidden {hidden}, unrounded"), spec.unrounded(), 9, tier);
            }
        }
        for preset in Preset::ALL {
            let spec = preset.spec(130, 1e-6).dtype(input).add_residual(input);
            add(format!("{preset} {input}"), spec, 33, if input == DType::BF16 { &as_it_is } else { &full });
            add(format!("{preset} {input} on an f32 stream"), spec.add_residual(DType::F32), 33, &full);
        }
        let spec = NormSpec::torch(96, 0.0).dtype(input).bias(input).add_residual(input);
        for (name, regime) in [
            ("mixed rows", Regime::Mixed),
            ("any finite", Regime::AnyFinite),
            ("zeros", Regime::Constant(0.0)),
            ("NaN and infinity", Regime::Spoiled),
            ("3e38", Regime::Alternating(3e38)),
        ] {
            add(format!("{name} {input}, eps 0"), spec, 10, &|case| case.regime(regime).weights(Weights::AnyFinite));
        }
        let spec = NormSpec::torch(2048, 1e-6).dtype(input).add_residual(input);
        add(format!("2048 {input} from one row to many"), spec, 130, &|case| case.twin(Twin::RowsAlone(vec![0, 1, 64, 129])));
        add(format!("40 {input}, 70000 rows"), NormSpec { hidden: 40, ..spec }, 70_000, &|case| {
            case.twin(Twin::RowsAlone(vec![0, 65_535, 69_999])).quick_if(input == DType::BF16)
        });
    }
    for dtype in DType::ALL {
        for hidden in [96, 101] {
            let spec = NormSpec::llama(hidden, 1e-6).dtype(dtype).add_residual(dtype);
            let quick = dtype == DType::F16 && hidden == 101;
            for (name, arrangement) in [
                ("the sum over the residual", Arrangement { residual_in_place: true, ..Default::default() }),
                ("both in place", Arrangement { residual_in_place: true, in_place: true, ..Default::default() }),
                (
                    "both in place, offset 3",
                    Arrangement { residual_in_place: true, in_place: true, offset: 3, ..Default::default() },
                ),
                ("offset 1", Arrangement { offset: 1, ..Default::default() }),
                ("gap 5", Arrangement { gap: 5, ..Default::default() }),
                ("arena", Arrangement { arena: true, offset: 1, ..Default::default() }),
                ("arena, paged", Arrangement { arena: true, paged: true, ..Default::default() }),
            ] {
                add(format!("{name}, {hidden} {dtype}"), spec, 11, &|case| case.arranged(arrangement).quick_if(quick));
            }
            for rung in [Rung::Looped, Rung::Multi, Rung::Solo] {
                let force = Force::default().rung(rung);
                add(format!("{} {hidden} {dtype}", rung.name()), spec, 300, &|case| case.forced(force).quick_if(quick));
            }
            let force = Force::default().access(Access::Word);
            add(format!("by words, {hidden} {dtype}"), spec, 5, &|case| case.forced(force).quick_if(quick));
            let as_gpu = Lowered { as_gpu: true, ..Default::default() };
            add(format!("as on a GPU, {hidden} {dtype}"), spec, 300, &|case| case.lowered(as_gpu).quick_if(quick));
            add(format!("293 of 300 rows, {hidden} {dtype}"), spec, 300, &|mut case| {
                case.recorded = Some(293);
                case.quick_if(quick)
            });
            let narrow = Lowered { max_binding: Some(8192), ..Default::default() };
            let both = Arrangement { residual_in_place: true, in_place: true, offset: 1, ..Default::default() };
            add(format!("bindings of 8 KiB, both in place, {hidden} {dtype}"), spec, 300, &|case| {
                case.arranged(both).lowered(narrow).quick_if(quick)
            });
            add(format!("bindings of 8 KiB, {hidden} {dtype}"), spec, 300, &|case| case.lowered(narrow).quick_if(quick));
        }
    }
}

const THEN_ADD: &str = "residual added after";

pub(super) fn residual_added_after(list: &mut List) {
    let mut add = |name: String, spec: NormSpec, rows: u64, quick: bool, change: &dyn Fn(Case) -> Case| {
        let case = change(Case::new(THEN_ADD, name, spec, rows)).quick_if(quick);
        let twin = if case.twin == Twin::None { Twin::Unfused } else { case.twin.clone() };
        list.push(case.twin(twin));
    };
    for dtype in DType::ALL {
        for residual in DType::ALL {
            for hidden in [96, 129] {
                let quick = (dtype as usize + residual as usize + hidden as usize).is_multiple_of(2);
                let spec = NormSpec::gemma(hidden, 1e-6).dtype(dtype).then_add_residual(residual);
                add(format!("{dtype}, then {residual}, hidden {hidden}"), spec, 9, quick, &|case| case);
            }
        }
        for preset in Preset::ALL {
            let spec = preset.spec(130, 1e-6).dtype(dtype).bias(dtype).then_add_residual(dtype);
            add(format!("{preset} {dtype} with bias"), spec, 33, dtype == DType::BF16, &|case| case);
        }
        let spec = NormSpec::torch(96, 0.0).dtype(dtype).then_add_residual(dtype);
        for (name, regime) in
            [("outliers", Regime::Outliers), ("zeros", Regime::Constant(0.0)), ("NaN and infinity", Regime::Spoiled)]
        {
            add(format!("{name} {dtype}, eps 0"), spec, 10, dtype != DType::F32, &|case| case.regime(regime));
        }
        for hidden in [96, 101] {
            let spec = NormSpec::gemma(hidden, 1e-6).dtype(dtype).then_add_residual(dtype);
            let quick = dtype == DType::BF16 && hidden == 101;
            for (name, arrangement) in [
                ("onto the residual", Arrangement { residual_in_place: true, ..Default::default() }),
                ("onto the residual, offset 3", Arrangement { residual_in_place: true, offset: 3, ..Default::default() }),
                ("over the input", Arrangement { in_place: true, ..Default::default() }),
                ("gap 5", Arrangement { gap: 5, ..Default::default() }),
                ("arena", Arrangement { arena: true, offset: 1, ..Default::default() }),
            ] {
                add(format!("{name}, {hidden} {dtype}"), spec, 11, quick, &|case| case.arranged(arrangement));
            }
            add(format!("multi {hidden} {dtype}"), spec, 300, quick, &|case| case.forced(Force::default().rung(Rung::Multi)));
            let as_gpu = Lowered { as_gpu: true, ..Default::default() };
            add(format!("as on a GPU, {hidden} {dtype}"), spec, 300, quick, &|case| case.lowered(as_gpu));
            add(format!("rows alone, {hidden} {dtype}"), spec, 300, quick, &|case| {
                case.twin(Twin::RowsAlone(vec![0, 1, 150, 299]))
            });
        }
    }
}
