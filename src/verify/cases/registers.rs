//! Rows that are read once and kept in registers: the same bits as the rungs that read them twice.

use super::super::case::{Arrangement, Case, Lowered};
use super::super::data::{Regime, Weights};
use super::{List, around};
use crate::dtype::DType;
use crate::plan::{Force, Rung};
use crate::spec::NormSpec;

const KIND: &str = "registers";

pub(super) fn registers(list: &mut List) {
    let force = Force::default().rung(Rung::Registers);
    // The plain run, with which bits are compared, then reads the row twice.
    let twice = Force::default().rung(Rung::Looped);
    let as_gpu = Lowered { as_gpu: true, ..Lowered::default() };
    let mut add = |name: String, spec: NormSpec, rows: u64, quick: bool, change: &dyn Fn(Case) -> Case| {
        list.push(change(Case::new(KIND, name, spec, rows)).quick_if(quick));
    };
    for (d, dtype) in DType::ALL.into_iter().enumerate() {
        for (h, hidden) in [2, 8, 40, 44, 64, 100].into_iter().enumerate() {
            let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype);
            let name = format!("{hidden} {dtype}");
            add(format!("{name}, mixed rows"), spec, 70, h % 3 == d, &|case| case.forced(force).regime(Regime::Mixed));
            add(format!("{name}, several a workgroup"), spec, 3000, h % 3 == d, &|case| case.forced(twice));
        }
        let spec = NormSpec::torch(44, 1e-6).dtype(dtype);
        for (name, regime) in
            [("any finite", Regime::AnyFinite), ("NaN and infinity", Regime::Spoiled), ("zeros", Regime::Constant(0.0))]
        {
            let case = |case: Case| case.forced(force).regime(regime).weights(Weights::AnyFinite);
            add(format!("44 {dtype}, {name}, eps 0"), NormSpec { eps: 0.0, ..spec }, 1100, true, &case);
        }
        for (name, arrangement) in [
            ("in place", Arrangement { in_place: true, ..Default::default() }),
            ("offset 4, gap 4", Arrangement { offset: 4, gap: 4, ..Default::default() }),
            ("arena", Arrangement { arena: true, ..Default::default() }),
        ] {
            add(format!("44 {dtype}, {name}"), spec, 1100, d == 1, &|case| case.arranged(arrangement).forced(force));
        }
        add(format!("44 {dtype}, 1093 of 1100 rows"), spec, 1100, d == 0, &|case| {
            let mut case = case.forced(force);
            case.recorded = Some(1093);
            case
        });
    }
    // What stands around a norm, and channels that rows do not share.
    for dtype in DType::ALL {
        let spec = NormSpec::llama(44, 1e-6).dtype(dtype);
        let own = [
            ("groups", NormSpec { hidden: 128, ..spec }.groups(4)),
            ("heads", NormSpec { hidden: 128, ..spec }.heads(4)),
            ("query and key heads", NormSpec { hidden: 128, ..spec }.query_and_key_heads(3, 1)),
        ];
        for (name, spec) in around(spec).into_iter().chain(own) {
            let quick = dtype == DType::F16;
            add(format!("{name} {dtype}"), spec, 1100, quick, &|case| case.forced(force).regime(Regime::Mixed));
        }
    }
    // As on a GPU: several invocations a row.
    for (d, dtype) in DType::ALL.into_iter().enumerate() {
        for hidden in [64, 500, 1000, 4096, 5120] {
            let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype);
            let quick = if hidden == 1000 { d == 2 } else { d == 0 && hidden != 5120 };
            let mixed = |case: Case| case.forced(twice).lowered(as_gpu).regime(Regime::Mixed);
            add(format!("{hidden} {dtype}, as on a GPU"), spec, 20, quick, &mixed);
            let spec = spec.add_residual(dtype).rstd();
            add(format!("{hidden} {dtype}, residual, as on a GPU"), spec, 20, quick && hidden == 1000, &mixed);
        }
    }
}
