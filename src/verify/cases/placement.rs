//! Where operands lie, what is planned, which limits are in force, in which batch a row sits: nothing of it may show in the bits.

use super::super::case::{Arrangement, Case, Lowered, Twin};
use super::super::data::Regime;
use super::List;
use crate::dtype::DType;
use crate::plan::{Access, Force, Reduction, Rung};
use crate::spec::NormSpec;

pub(super) fn layouts(list: &mut List) {
    let plain = Arrangement::default();
    let all = [
        ("offset 1", Arrangement { offset: 1, ..plain }),
        ("offset 3", Arrangement { offset: 3, ..plain }),
        ("offset 8", Arrangement { offset: 8, ..plain }),
        ("G3 offset 100", Arrangement { offset: 100, ..plain }),
        ("gap 1", Arrangement { gap: 1, ..plain }),
        ("gap 3, offset 3", Arrangement { gap: 3, offset: 3, ..plain }),
        ("gap 8", Arrangement { gap: 8, ..plain }),
        ("in place", Arrangement { in_place: true, ..plain }),
        ("in place, offset 1, gap 1", Arrangement { in_place: true, offset: 1, gap: 1, ..plain }),
        ("in place, offset 1", Arrangement { in_place: true, offset: 1, ..plain }),
        ("arena", Arrangement { arena: true, ..plain }),
        ("arena, offset 1, gap 2", Arrangement { arena: true, offset: 1, gap: 2, ..plain }),
        ("arena by pages", Arrangement { arena: true, paged: true, ..plain }),
        ("arena, in place", Arrangement { arena: true, in_place: true, ..plain }),
    ];
    for (hidden, dtype) in [
        (104, DType::F32),
        (101, DType::F32),
        (104, DType::F16),
        (101, DType::F16),
        (101, DType::BF16),
        (3, DType::BF16),
        (1, DType::F16),
    ] {
        for (index, (name, arrangement)) in all.into_iter().enumerate() {
            let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype);
            let quick = dtype == DType::F16 || (dtype == DType::F32 && index % 2 == 0);
            let case = Case::new("layouts", format!("{name}: {hidden} {dtype}"), spec, 7).arranged(arrangement);
            list.push(case.regime(Regime::Mixed).quick_if(quick && hidden > 1));
        }
    }
    // What lies between and around the rows is a NaN in every dtype, and must stay so.
    let slack = Arrangement { offset: 3, gap: 3, ..plain };
    let spec = NormSpec::torch(5, 1e-6).dtype(DType::F16).without_weight();
    list.push(Case::new("layouts", "F7 3 x 5 f16 in slack of NaN", spec, 3).arranged(slack));
    for (recorded, rows) in [(0, 7), (1, 7), (4, 7), (6, 7), (994, 1000), (129, 1000)] {
        for hidden in [24, 25] {
            let spec = NormSpec::torch(hidden, 1e-6).dtype(DType::F16);
            let mut case = Case::new("layouts", format!("{recorded} of {rows} rows recorded, {hidden} f16"), spec, rows);
            case.recorded = Some(recorded);
            list.push(case);
        }
    }
}

/// Rows that share every boundary word, many at once: what is lost here is lost by a race.
pub(super) fn shared_words(list: &mut List) {
    let odd = Arrangement { offset: 1, ..Arrangement::default() };
    for (dtype, hidden) in [(DType::F16, 2), (DType::BF16, 6), (DType::F16, 16), (DType::BF16, 70)] {
        for arrangement in [odd, Arrangement { in_place: true, ..odd }] {
            for as_gpu in [false, true] {
                let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype);
                let name = format!(
                    "{}{hidden} {dtype}{}",
                    if arrangement.in_place { "in place, " } else { "" },
                    if as_gpu { ", as on a GPU" } else { "" }
                );
                let case = Case::new("shared words", name, spec, 20_000).arranged(arrangement);
                list.push(case.lowered(Lowered { as_gpu, ..Lowered::default() }).quick_if(hidden < 10));
            }
        }
    }
}

/// Rows that begin within 64-bit words, and so many that each is one invocation's: those that share a word go through it in turns.
pub(super) fn turns(list: &mut List) {
    let plain = Arrangement::default();
    let arrangements = [
        ("", plain),
        (", offset 1", Arrangement { offset: 1, ..plain }),
        (", offset 2", Arrangement { offset: 2, ..plain }),
        (", offset 3", Arrangement { offset: 3, ..plain }),
        (", offset 3, gap 5", Arrangement { offset: 3, gap: 5, ..plain }),
        (", gap 1", Arrangement { gap: 1, ..plain }),
        (", in place, offset 1", Arrangement { in_place: true, offset: 1, ..plain }),
        (", arena, offset 1", Arrangement { arena: true, offset: 1, ..plain }),
    ];
    for (hidden, dtype) in [
        (1, DType::F16),
        (3, DType::BF16),
        (5, DType::F32),
        (8, DType::F16),
        (126, DType::BF16),
        (127, DType::F16),
        (127, DType::F32),
        (126, DType::F32),
        (1001, DType::F16),
        (1001, DType::F32),
    ] {
        let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype);
        for (index, (name, arrangement)) in arrangements.into_iter().enumerate() {
            let case = Case::new("turns", format!("{hidden} {dtype}{name}"), spec, 601).arranged(arrangement);
            list.push(case.regime(Regime::Mixed).quick_if(index == 1 || (hidden, dtype) == (127, DType::F16)));
        }
        let mut case = Case::new("turns", format!("{hidden} {dtype}, 598 of 601 rows"), spec, 601);
        case.recorded = Some(598);
        list.push(case.arranged(Arrangement { offset: 1, ..plain }).quick_if(hidden == 127));
        let case = Case::new("turns", format!("{hidden} {dtype}, rows alone"), spec, 601).regime(Regime::Mixed);
        list.push(case.twin(Twin::RowsAlone(vec![0, 1, 2, 3, 4, 5, 599, 600])).quick_if(hidden == 127));
        let small = Lowered { max_binding: Some(32_768), ..Lowered::default() };
        let case = Case::new("turns", format!("{hidden} {dtype}, bindings of 32 KiB"), spec, 601);
        list.push(case.arranged(Arrangement { offset: 1, ..plain }).lowered(small).quick_if(hidden == 127));
        for access in [Access::Shifted, Access::Double] {
            let force = Force::default().rung(Rung::Solo).access(access);
            let case = Case::new("turns", format!("{hidden} {dtype}, solo, {}", access.name()), spec, 70);
            list.push(case.forced(force).quick_if(hidden == 1001));
        }
    }
    for hidden in [64, 127] {
        let of = |spec: NormSpec| spec.input(DType::BF16).output(DType::F32);
        let mixed = [
            ("bf16 to f32", of(NormSpec::llama(hidden, 1e-6))),
            ("residual bf16", NormSpec::torch(hidden, 1e-6).dtype(DType::BF16).add_residual(DType::BF16)),
            ("residual f32", NormSpec::torch(hidden, 1e-6).dtype(DType::F16).add_residual(DType::F32)),
            ("then residual f16", NormSpec::torch(hidden, 1e-6).dtype(DType::F16).then_add_residual(DType::F16)),
            ("gate f32", NormSpec::torch(hidden, 1e-6).dtype(DType::F16).gate_output(DType::F32)),
            ("3 heads", NormSpec::torch(3 * hidden, 1e-6).dtype(DType::F16).heads(3)),
        ];
        for (name, spec) in mixed {
            for (where_, arrangement) in
                [("", plain), (", offset 1", arrangements[1].1), (", gap 1", arrangements[5].1), (", arena", arrangements[7].1)]
            {
                let case = Case::new("turns", format!("{name}, {hidden}{where_}"), spec, 601).arranged(arrangement);
                list.push(case.regime(Regime::Mixed).quick_if(hidden == 127 && arrangement.offset == 1));
            }
        }
    }
}

/// Registers are for short rows of whole words, pieces for long ones.
fn suits(rung: Rung, hidden: u64, dtype: DType) -> bool {
    match rung {
        Rung::Registers => hidden == 64,
        Rung::Split => hidden >= 1000 && (hidden * dtype.size()).is_multiple_of(4),
        Rung::Looped | Rung::Multi | Rung::Solo => true,
    }
}

pub(super) fn choices(list: &mut List) {
    for (hidden, dtype) in [(64, DType::F32), (129, DType::F16), (1000, DType::BF16), (4096, DType::F32)] {
        let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype);
        for rung in Rung::ALL.into_iter().filter(|rung| suits(*rung, hidden, dtype)) {
            let case = Case::new("choices", format!("rung {} {hidden} {dtype}", rung.name()), spec, 70);
            list.push(case.forced(Force::default().rung(rung)).regime(Regime::Mixed));
        }
        for reduction in Reduction::ALL {
            let force = Force::default().rung(Rung::Looped).reduction(reduction);
            let case = Case::new("choices", format!("reduction {} {hidden} {dtype}", reduction.name()), spec, 70);
            list.push(case.forced(force).regime(Regime::Mixed));
        }
        let as_gpu = Lowered { as_gpu: true, ..Lowered::default() };
        let by_levels = Force::default().rung(Rung::Looped).reduction(Reduction::Workgroup);
        let case = Case::new("choices", format!("reduction workgroup {hidden} {dtype}, as on a GPU"), spec, 20);
        list.push(case.forced(by_levels).lowered(as_gpu).regime(Regime::Mixed).quick_if(hidden == 4096));
        for workgroup in [1, 16, 64] {
            let force = Force::default().rung(Rung::Multi).workgroup(workgroup);
            let case = Case::new("choices", format!("workgroups of {workgroup}, {hidden} {dtype}"), spec, 70);
            list.push(case.forced(force).regime(Regime::Mixed).quick_if(workgroup == 16));
        }
        for access in Access::ALL.into_iter().filter(|access| *access != Access::Wide) {
            let case = Case::new("choices", format!("access {} {hidden} {dtype}", access.name()), spec, 70);
            list.push(case.forced(Force::default().access(access)).quick_if(hidden == 1000));
        }
        for width in [1, 2, 3, 16] {
            let case = Case::new("choices", format!("width {width} {hidden} {dtype}"), spec, 70);
            list.push(case.forced(Force::default().width(width)).regime(Regime::Mixed).quick_if(width == 2));
        }
    }
}

pub(super) fn limits(list: &mut List) {
    let none = Lowered::default();
    let all = [
        ("binding of 4 KiB", Lowered { max_binding: Some(4096), ..none }),
        ("binding of 4 KiB, aligned to 1 KiB", Lowered { max_binding: Some(4096), storage_alignment: Some(1024), ..none }),
        ("7 workgroups an axis", Lowered { max_workgroups: Some(7), ..none }),
        ("4 invocations", Lowered { max_invocations: Some(4), ..none }),
        ("1 invocation", Lowered { max_invocations: Some(1), ..none }),
        ("640 bytes of workgroup memory", Lowered { workgroup_memory: Some(640), ..none }),
    ];
    for (hidden, dtype) in [(100, DType::F32), (33, DType::F16), (48, DType::BF16)] {
        for (name, lowered) in all {
            let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype);
            let quick = dtype == DType::F16 || lowered.max_binding.is_some();
            list.push(Case::new("limits", format!("{name}: {hidden} {dtype}"), spec, 203).lowered(lowered).quick_if(quick));
        }
    }
    list.push(
        Case::new("limits", "K2 rows in chunks, in place", NormSpec::torch(64, 1e-6), 300)
            .lowered(all[0].1)
            .arranged(Arrangement { in_place: true, ..Arrangement::default() }),
    );
    list.push(Case::new("limits", "B1 65536 rows of 4", NormSpec::torch(4, 1e-6), 65_536));
    list.push(Case::new("limits", "B2 70000 rows of 8", NormSpec::torch(8, 1e-6), 70_000));
    list.push(
        Case::new("limits", "70000 rows of 3 f16, looped", NormSpec::torch(3, 1e-6).dtype(DType::F16), 70_000)
            .forced(Force::default().rung(Rung::Looped)),
    );
    list.push(Case::new("limits", "B4 8388613 rows of 3 bf16", NormSpec::torch(3, 1e-6).dtype(DType::BF16), 8_388_613).full());
    list.push(Case::new("limits", "K2 33000 rows of 1024", NormSpec::torch(1024, 1e-6), 33_000).full());
}

/// Tensors as large as a prompt's: beyond the 128 MiB that a binding may span on a device with WebGPU's limits, and of more rows
/// than workgroups fit on one axis.
pub(super) fn real_sizes(list: &mut List) {
    let webgpu = Lowered { max_binding: Some(128 << 20), max_workgroups: Some(65_535), ..Lowered::default() };
    for (rows, hidden, dtype) in [(33_800, 1024, DType::F32), (70_001, 1030, DType::F16), (600_001, 127, DType::BF16)] {
        let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype);
        let size = (rows * hidden * dtype.size()) >> 20;
        let case = Case::new("real sizes", format!("{size} MiB: {rows} x {hidden} {dtype}"), spec, rows);
        list.push(case.lowered(webgpu).full());
    }
}

/// What a GPU would be asked to do: many lanes, several rows at once.
pub(super) fn as_on_a_gpu(list: &mut List) {
    let lowered = Lowered { as_gpu: true, ..Lowered::default() };
    for (index, hidden) in [1, 3, 8, 40, 64, 128, 129, 256, 769, 1000, 4096, 4099, 16_384, 70_000].into_iter().enumerate() {
        for (d, dtype) in DType::ALL.into_iter().enumerate() {
            let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype);
            let mut case = Case::new("as on a GPU", format!("{hidden} {dtype}"), spec, 29).regime(Regime::Mixed).lowered(lowered);
            case.force = Force::default().rung(Rung::Looped);
            list.push(case.quick_if(d == index % 3));
        }
    }
    for (name, narrow) in [
        ("32 invocations", Lowered { max_invocations: Some(32), ..lowered }),
        ("3 invocations", Lowered { max_invocations: Some(3), ..lowered }),
        ("bindings of 8 KiB", Lowered { max_binding: Some(8192), ..lowered }),
        ("1 KiB of workgroup memory", Lowered { workgroup_memory: Some(1024), ..lowered }),
    ] {
        for (hidden, dtype) in [(64, DType::F16), (65, DType::BF16), (1000, DType::F32)] {
            let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype);
            let case = Case::new("as on a GPU", format!("{name}: {hidden} {dtype}"), spec, 300).regime(Regime::Mixed);
            list.push(case.lowered(narrow).quick_if(hidden < 100));
        }
    }
    // Without a second invocation nothing keeps a driver from unrolling, and from fusing what it then sees.
    for hidden in [100, 48] {
        let one = Lowered { max_invocations: Some(1), ..lowered };
        list.push(
            Case::new("as on a GPU", format!("1 invocation: {hidden} f32"), NormSpec::torch(hidden, 1e-6), 203).lowered(one),
        );
    }
    for rows in [83, 1] {
        let spec = NormSpec::torch(64, 1e-6);
        let case = Case::new("as on a GPU", format!("N5 {rows} rows for workgroups of many"), spec, rows).lowered(lowered);
        list.push(case.forced(Force::default().rung(Rung::Multi)));
    }
    for (hidden, dtype) in [(128, DType::F16), (129, DType::BF16), (24, DType::F32)] {
        let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype);
        let mut case = Case::new("as on a GPU", format!("rows alone, {hidden} {dtype}"), spec, 1000).lowered(lowered);
        case.twin = Twin::RowsAlone(vec![0, 1, 499, 998, 999]);
        list.push(case);
        let mut case = Case::new("as on a GPU", format!("993 of 1000 rows, {hidden} {dtype}"), spec, 1000).lowered(lowered);
        case.recorded = Some(993);
        list.push(case);
    }
}

pub(super) fn batches(list: &mut List) {
    for (hidden, dtype) in [(128, DType::F32), (129, DType::BF16), (768, DType::F16)] {
        for rows in [2, 255, 256, 257, 300] {
            let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype);
            let alone = vec![0, 1, rows / 2, rows - 1];
            let case = Case::new("batch invariance", format!("{rows} rows of {hidden} {dtype}"), spec, rows)
                .twin(Twin::RowsAlone(alone));
            list.push(case.quick_if(rows == 257 || hidden == 129));
        }
    }
    let spec = NormSpec::torch(16, 1e-6);
    let alone = vec![0, 1, 254, 255, 65_534, 65_535, 65_536, 69_999];
    list.push(Case::new("batch invariance", "70000 rows of 16", spec, 70_000).twin(Twin::RowsAlone(alone.clone())));
    let spec = NormSpec::torch(17, 1e-6).dtype(DType::F16);
    list.push(Case::new("batch invariance", "70000 rows of 17 f16", spec, 70_000).twin(Twin::RowsAlone(alone)));
    let spec = NormSpec::torch(769, 1e-6).dtype(DType::F16);
    list.push(Case::new("batch invariance", "A1 7 x 769, 20 times", spec, 7).twin(Twin::Repeated(20)));
    let spec = NormSpec::torch(1024, 1e-6);
    list.push(Case::new("batch invariance", "H6 4096 x 1024, 200 times", spec, 4096).twin(Twin::Repeated(200)).full());
}
