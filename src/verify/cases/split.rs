//! Long rows that several workgroups share: the same bits as one workgroup gives.

use super::super::case::{Arrangement, Case, Lowered, Twin};
use super::super::data::{Regime, Weights};
use super::{List, around};
use crate::dtype::DType;
use crate::plan::{Force, Rung};
use crate::spec::NormSpec;

const KIND: &str = "split";

pub(super) fn split(list: &mut List) {
    let force = Force::default().rung(Rung::Split);
    let as_gpu = Lowered { as_gpu: true, ..Lowered::default() };
    let mut add = |name: String, spec: NormSpec, quick: bool, change: &dyn Fn(Case) -> Case| {
        list.push(change(Case::new(KIND, name, spec, 6).forced(force)).quick_if(quick));
    };
    for (d, dtype) in DType::ALL.into_iter().enumerate() {
        // Pieces of one block and of several, whole ones and a smaller last one, and a rest behind the last octet.
        for (h, hidden) in [1000, 1028, 4096, 4100, 5000, 9004, 65_536].into_iter().enumerate() {
            let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype);
            add(format!("{hidden} {dtype}, mixed rows"), spec, h % 3 == d, &|case| case.regime(Regime::Mixed));
        }
        let spec = NormSpec::torch(5000, 1e-6).dtype(dtype);
        for (name, regime) in
            [("any finite", Regime::AnyFinite), ("NaN and infinity", Regime::Spoiled), ("zeros", Regime::Constant(0.0))]
        {
            let eps_0 = NormSpec { eps: 0.0, ..spec };
            add(format!("5000 {dtype}, {name}, eps 0"), eps_0, true, &|case| case.regime(regime).weights(Weights::AnyFinite));
        }
        for (name, arrangement) in [
            ("offset 4, gap 4", Arrangement { offset: 4, gap: 4, ..Default::default() }),
            ("arena", Arrangement { arena: true, ..Default::default() }),
        ] {
            add(format!("5000 {dtype}, {name}"), spec, d == 1, &|case| case.arranged(arrangement));
        }
        add(format!("5000 {dtype}, 5 of 6 rows"), spec, d == 0, &|mut case| {
            case.recorded = Some(5);
            case
        });
        add(format!("5000 {dtype}, again and again"), spec, d == 2, &|case| case.twin(Twin::Repeated(20)));
        let narrow = Lowered { max_binding: Some(65_536), ..Lowered::default() };
        add(format!("5000 {dtype}, bindings of 64 KiB"), spec, d == 1, &|case| case.lowered(narrow));
        for hidden in [40_000, 65_536] {
            let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype);
            add(format!("{hidden} {dtype}, as on a GPU"), spec, hidden == 40_000 && d == 2, &|case| case.lowered(as_gpu));
        }
    }
    for dtype in DType::ALL {
        let spec = NormSpec::llama(5000, 1e-6).dtype(dtype);
        let own = [
            ("partial", NormSpec::torch(5000, 1e-6).dtype(dtype).partial(2500)),
            ("groups", spec.groups(4)),
            ("heads", spec.heads(2)),
        ];
        for (name, spec) in around(spec).into_iter().chain(own) {
            add(format!("{name} {dtype}"), spec, dtype == DType::F16, &|case| case.regime(Regime::Mixed));
        }
    }
}
