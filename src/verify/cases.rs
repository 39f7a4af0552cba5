//! The one case list: what the tests, the program and the web page run on every adapter.
//!
//! Cases that restate a failure seen elsewhere carry its ID, a letter and a number, at the start of their name.

use super::case::{Arrangement, Case, Lowered, Tier, Twin};
use super::data::{Regime, Weights};
use crate::dtype::DType;
use crate::plan::{Access, Force, Rung};
use crate::spec::{NormSpec, Preset};

/// Row lengths around every word, vector and power of two, and those of models (case J6).
pub const HIDDEN: [u64; 34] = [
    1, 2, 3, 5, 7, 8, 9, 15, 17, 31, 33, 63, 64, 65, 96, 127, 128, 129, 192, 255, 257, 500, 512, 541, 769, 1000, 1023, 1024,
    1025, 2049, 3584, 4096, 4100, 5120,
];

/// Row lengths that only the full tier adds.
pub const MORE_HIDDEN: [u64; 32] = [
    32, 41, 50, 80, 111, 123, 229, 256, 273, 576, 760, 768, 1128, 1536, 2048, 2050, 2560, 2880, 3000, 3072, 4099, 5125, 6144,
    7168, 8192, 12_288, 14_432, 16_384, 18_432, 32_768, 65_536, 262_144,
];

/// The whole list of a tier, in a fixed order.
pub fn cases(tier: Tier) -> Vec<Case> {
    let mut list = Vec::new();
    shapes(&mut list);
    mixes(&mut list);
    presets(&mut list);
    regimes(&mut list);
    layouts(&mut list);
    choices(&mut list);
    limits(&mut list);
    as_on_a_gpu(&mut list);
    batches(&mut list);
    accuracy(&mut list);
    shared_words(&mut list);
    restated(&mut list);
    list.retain(|case| case.tier <= tier);
    list
}

fn shapes(list: &mut Vec<Case>) {
    for (index, hidden) in HIDDEN.into_iter().enumerate() {
        for (d, dtype) in DType::ALL.into_iter().enumerate() {
            // In the quick tier every length meets one dtype, and odd lengths a half one.
            let quick = if hidden % 2 == 1 { d == 1 + index % 2 } else { d == index % 3 };
            let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype);
            list.push(Case::new("shapes", format!("hidden {hidden} {dtype}"), spec, 5).quick_if(quick));
        }
    }
    for hidden in MORE_HIDDEN {
        for dtype in DType::ALL {
            let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype);
            list.push(Case::new("shapes", format!("hidden {hidden} {dtype}"), spec, 7).full());
        }
    }
    for rows in [1, 2, 19, 37, 83, 99, 199, 883, 989, 1024, 4096, 8192, 32_768] {
        let quick = rows < 1000;
        let spec = NormSpec::torch(40, 1e-5).dtype(DType::F16);
        list.push(Case::new("shapes", format!("rows {rows} of 40"), spec, rows).quick_if(quick));
        let spec = NormSpec::torch(41, 1e-5).dtype(DType::BF16);
        list.push(Case::new("shapes", format!("rows {rows} of 41"), spec, rows).quick_if(quick));
    }
    for hidden in 257..=512 {
        for rows in [1, 3] {
            let spec = NormSpec::torch(hidden, 1e-6).dtype(DType::F16);
            list.push(Case::new("shapes", format!("A5 sweep {rows} x {hidden}"), spec, rows).full());
        }
    }
}

fn mixes(list: &mut Vec<Case>) {
    for input in DType::ALL {
        for weight in DType::ALL {
            for output in DType::ALL {
                for (offset, hidden) in [8, 7].into_iter().enumerate() {
                    // Half of each length in the quick tier, of every dtype in every place.
                    let count = input as usize + weight as usize + output as usize + offset;
                    let spec = NormSpec::torch(hidden, 1e-6).input(input).weight(weight).output(output);
                    let name = format!("E3 {input} x {weight} -> {output}, hidden {hidden}");
                    list.push(Case::new("dtype mixes", name, spec, 9).quick_if(count.is_multiple_of(2)));
                }
            }
        }
    }
    for bias in DType::ALL {
        for dtype in DType::ALL {
            let spec = NormSpec::torch(72, 1e-6).dtype(dtype).bias(bias);
            list.push(Case::new("dtype mixes", format!("bias {bias} on {dtype}"), spec, 6).quick_if(bias == dtype));
        }
    }
    for dtype in DType::ALL {
        let spec = NormSpec::torch(72, 1e-6).dtype(dtype).without_weight();
        list.push(Case::new("dtype mixes", format!("G5 no weight {dtype}"), spec, 6).quick_if(dtype == DType::BF16));
    }
}

fn presets(list: &mut Vec<Case>) {
    for preset in Preset::ALL {
        for input in DType::ALL {
            for weight in DType::ALL {
                let spec = preset.spec(130, 1e-6).input(input).weight(weight);
                let quick = input == weight || (input, weight) == (DType::BF16, DType::F32);
                let name = format!("{preset} {input} x {weight}");
                list.push(Case::new("presets", name, spec, 33).quick_if(quick));
            }
        }
        let spec = preset.spec(64, 1e-6).dtype(DType::BF16);
        list.push(Case::new("presets", format!("E2 {preset} weight 3.7"), spec, 4).weights(Weights::Constant(3.7)));
        for dtype in [DType::BF16, DType::F16] {
            let spec = preset.spec(97, 0.0).dtype(dtype);
            let case = Case::new("presets", format!("{preset} rescued, {dtype}"), spec, 25).regime(Regime::Mixed);
            list.push(case.weights(Weights::AnyFinite).quick_if(dtype == DType::BF16));
        }
    }
    for weight in [0.0, -1.0, 15.8125, 0.003_906_25] {
        let spec = NormSpec::gemma(96, 1e-6).dtype(DType::BF16);
        list.push(Case::new("presets", format!("gemma weight {weight}"), spec, 4).weights(Weights::Constant(weight)));
    }
}

fn regimes(list: &mut Vec<Case>) {
    use Regime::*;
    let all = [
        ("zeros", Constant(0.0)),
        ("1/(2N)", Normal(1.0 / 192.0)),
        ("1e-6", Normal(1e-6)),
        ("1e-5", Normal(1e-5)),
        ("100", Normal(100.0)),
        ("1e4", Normal(1e4)),
        ("1e-25", Normal(1e-25)),
        ("1e-19", Normal(1e-19)),
        ("1e-10", Normal(1e-10)),
        ("C3 1e20", Alternating(1e20)),
        ("1e19", Constant(1e19)),
        ("2e19", Constant(2e19)),
        ("1e30", Normal(1e30)),
        ("3e38", Alternating(3e38)),
        ("spike in zeros", Spike(1.0, 0.0)),
        ("huge among tiny", Spike(3e38, 1e-30)),
        ("1e10 among 1e-10", Spike(1e10, 1e-10)),
        ("f16 255", Alternating(255.0)),
        ("f16 256", Alternating(256.0)),
        ("f16 257", Alternating(257.0)),
        ("f16 largest", Alternating(65504.0)),
        ("subnormal", Subnormal),
        ("NaN and infinity", Spoiled),
        ("any finite", AnyFinite),
        ("mixed rows", Mixed),
    ];
    for eps in [1e-6, 0.0] {
        for dtype in DType::ALL {
            for (name, regime) in all {
                let spec = NormSpec::torch(96, eps).dtype(dtype);
                list.push(Case::new("range", format!("{name} {dtype} eps {eps:e}"), spec, 10).regime(regime));
            }
            let spec = NormSpec::torch(96, eps).dtype(dtype);
            let name = format!("any finite weight {dtype} eps {eps:e}");
            list.push(Case::new("range", name, spec, 10).regime(Mixed).weights(Weights::AnyFinite));
        }
    }
    for eps in [1e-45f32, 1e-30, 1e-12, 1.0, 1e10, f32::MAX] {
        let spec = NormSpec::torch(96, eps);
        list.push(Case::new("range", format!("eps {eps:e}"), spec, 10).regime(Mixed).quick_if(eps < 1e-11));
        let spec = NormSpec::torch(96, eps);
        list.push(Case::new("range", format!("eps {eps:e} any finite"), spec, 10).regime(AnyFinite).quick_if(eps < 1e-11));
    }
    // The mean is finite, and so is eps, but not their sum.
    list.push(Case::new("range", "1e18 and an eps of 3e38", NormSpec::torch(96, f32::MAX), 3).regime(Constant(1e18)));
    // f32 output shows what a half one would round away.
    for dtype in [DType::F16, DType::BF16] {
        let spec = NormSpec::torch(96, 1e-6).dtype(dtype).output(DType::F32);
        list.push(Case::new("range", format!("mixed rows {dtype} to f32"), spec, 10).regime(Mixed));
        list.push(Case::new("range", format!("subnormal {dtype} to f32"), spec, 10).regime(Subnormal));
    }
    for dtype in DType::ALL {
        let spec = NormSpec::torch(96, 0.0).dtype(dtype).bias(dtype);
        list.push(
            Case::new("range", format!("mixed rows with bias {dtype}"), spec, 10).regime(Mixed).weights(Weights::AnyFinite),
        );
    }
    // Products that overflow before the bias brings them back.
    let spec = NormSpec::torch(96, 1e-6).bias(DType::F32);
    list.push(Case::new("range", "weight near the largest, with bias", spec, 10).weights(Weights::Constant(1e38)));
}

fn layouts(list: &mut Vec<Case>) {
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

fn choices(list: &mut Vec<Case>) {
    for (hidden, dtype) in [(64, DType::F32), (129, DType::F16), (1000, DType::BF16), (4096, DType::F32)] {
        let spec = NormSpec::torch(hidden, 1e-6).dtype(dtype);
        for rung in Rung::ALL {
            let case = Case::new("choices", format!("rung {} {hidden} {dtype}", rung.name()), spec, 70);
            list.push(case.forced(Force::default().rung(rung)).regime(Regime::Mixed));
        }
        for access in [Access::Word, Access::Element] {
            let case = Case::new("choices", format!("access {} {hidden} {dtype}", access.name()), spec, 70);
            list.push(case.forced(Force::default().access(access)).quick_if(hidden == 1000));
        }
        for width in [1, 2, 3, 16] {
            let case = Case::new("choices", format!("width {width} {hidden} {dtype}"), spec, 70);
            list.push(case.forced(Force::default().width(width)).regime(Regime::Mixed).quick_if(width == 2));
        }
    }
}

fn limits(list: &mut Vec<Case>) {
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

/// What a GPU would be asked to do: many lanes, several rows at once.
fn as_on_a_gpu(list: &mut Vec<Case>) {
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

fn batches(list: &mut Vec<Case>) {
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

fn accuracy(list: &mut Vec<Case>) {
    for shift in (6..=20).step_by(2) {
        let hidden = 1u64 << shift;
        for (name, regime) in [("constant", Regime::Constant(0.7)), ("normal", Regime::Normal(1.0))] {
            let case = Case::new("accuracy", format!("{name} row of {hidden}"), NormSpec::torch(hidden, 1e-6), 3);
            list.push(case.regime(regime).quick_if(shift % 4 == 0));
        }
    }
    for value in [0.1, 0.3, 1.1, 1.9, 3.3] {
        let case = Case::new("accuracy", format!("constant {value} row of 16384"), NormSpec::torch(16_384, 1e-6), 1);
        list.push(case.regime(Regime::Constant(value)));
    }
    for (hidden, dtype, rows) in
        [(1 << 20, DType::BF16, 1), (2_097_152, DType::F32, 1), (2_097_152, DType::BF16, 3), (131_073, DType::BF16, 1)]
    {
        let case =
            Case::new("accuracy", format!("O11 {rows} x {hidden} {dtype}"), NormSpec::torch(hidden, 1e-6).dtype(dtype), rows);
        list.push(case.quick_if(hidden == 131_073));
    }
    // Shares of misrounded elements, over a million elements each.
    for (dtype, most) in [(DType::F16, 1e-3), (DType::BF16, 1e-4)] {
        for (name, regime, quick) in
            [("normal", Regime::Normal(1.0), true), ("small", Regime::Normal(1e-3), false), ("outliers", Regime::Outliers, false)]
        {
            let spec = NormSpec::torch(1024, 1e-6).dtype(dtype);
            let mut case = Case::new("accuracy", format!("E10 rounding of a million, {name} {dtype}"), spec, 1024).regime(regime);
            case.most_misrounded = Some(most);
            list.push(case.quick_if(quick));
        }
    }
}

/// Rows that share every boundary word, many at once: what is lost here is lost by a race.
fn shared_words(list: &mut Vec<Case>) {
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

fn restated(list: &mut Vec<Case>) {
    let torch = NormSpec::torch;
    let mut add = |name: &str, spec: NormSpec, rows: u64, regime: Regime, weights: Weights| {
        let mut case = Case::new("restated", name, spec, rows).regime(regime).weights(weights);
        // What is an exact tie must come out exactly.
        case.most_misrounded = name.starts_with("E4").then_some(0.0);
        list.push(case);
    };
    let usual = Weights::Usual;
    let ones = Weights::Constant(1.0);
    add("A1 7 x 769 f16", torch(769, 1e-6).dtype(DType::F16), 7, Regime::Normal(1.0), usual);
    add("A1 7 x 769 bf16", torch(769, 1e-6).dtype(DType::BF16), 7, Regime::Normal(1.0), usual);
    add("A1 control 7 x 768 f16", torch(768, 1e-6).dtype(DType::F16), 7, Regime::Normal(1.0), usual);
    add("A3 1 x 5120 bf16", torch(5120, 1e-6).dtype(DType::BF16), 1, Regime::Normal(1.0), usual);
    add("A3 8 x 7168 bf16", torch(7168, 1e-6).dtype(DType::BF16), 8, Regime::Normal(1.0), usual);
    add("A6 2 x 2049", torch(2049, 1e-6), 2, Regime::Normal(1.0), usual);
    add("A9 1 x 49152", torch(49_152, 1e-6), 1, Regime::Normal(1.0), usual);
    add("B7 2 x 65537", torch(65_537, 1e-5), 2, Regime::Normal(1.0), usual);
    add("B7 2 x 131072", torch(131_072, 1e-5), 2, Regime::Normal(1.0), usual);
    add("C1 300 in f16", torch(64, 1e-6).dtype(DType::F16), 2, Regime::Constant(300.0), ones);
    add("C4 one 2 among ones in bf16", torch(4096, 1e-6).dtype(DType::BF16), 1, Regime::Spike(2.0, 1.0), ones);
    add("C5 outliers of 40", torch(4096, 1e-6), 1, Regime::Outliers, usual);
    add("C10 70000 ones in f16", torch(70_000, 1e-6).dtype(DType::F16), 1, Regime::Constant(1.0), ones);
    add("D1 zeros, eps 1e-12, f16", torch(10, 1e-12).dtype(DType::F16), 1, Regime::Constant(0.0), ones);
    add("D2 a spike of 1000", torch(4096, 1e-5), 1, Regime::Spike(1000.0, 0.0), ones);
    add("D3 eps inside the root", torch(8, 1e-6), 1, Regime::Constant(1e-4), ones);
    add("D5 0.3, eps 1e-5", torch(64, 1e-5), 1, Regime::Constant(0.3), ones);
    add("D5 0.3, eps 1e-6", torch(64, 1e-6), 1, Regime::Constant(0.3), ones);
    add("D8 zeros, eps 0", torch(64, 0.0), 3, Regime::Constant(0.0), usual);
    add("D9 0.05 in bf16", torch(32, 1e-6).dtype(DType::BF16), 8, Regime::Normal(0.05), usual);
    add("G8 weight 2 once", torch(8, 1e-6), 2, Regime::Constant(1.0), Weights::Constant(2.0));
    add("K6 3 x 5 f16", torch(5, 1e-6).dtype(DType::F16), 3, Regime::Normal(1.0), usual);
    add("K6 1 x 1 bf16", torch(1, 1e-6).dtype(DType::BF16), 1, Regime::Normal(1.0), usual);
    add("P3 f16 results near 1e-7", torch(512, 1e-6).dtype(DType::F16), 4, Regime::Normal(1.0), Weights::Constant(1e-7));
    // Rows of ones are normalised to ones, and the f32 weight lies halfway between two f16 (1 + 2^-11, 1 + 3 * 2^-11) or bf16.
    for (dtype, half) in [(DType::F16, 2f64.powi(-11)), (DType::BF16, 2f64.powi(-8))] {
        let ties = NormSpec::torch(64, 0.0).input(dtype).output(dtype);
        add(&format!("E4 ties down, {dtype}"), ties, 1, Regime::Constant(1.0), Weights::Constant(1.0 + half));
        add(&format!("E4 ties up, {dtype}"), ties, 1, Regime::Constant(1.0), Weights::Constant(1.0 + 3.0 * half));
    }
    add("P5 rows of sqrt(2)", torch(64, 0.0), 1, Regime::Constant(std::f64::consts::SQRT_2), ones);
    let offset = |offset: f32| torch(4, 1e-6).weight_offset(offset);
    add("E9 weight 0.5, offset 1", offset(1.0), 1, Regime::Spike(4.0, 3.0), Weights::Constant(0.5));
    add("E9 weight 0.5, offset 0", offset(0.0), 1, Regime::Spike(4.0, 3.0), Weights::Constant(0.5));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_the_quick_tier_is_part_of_the_full_one() {
        let (quick, full) = (cases(Tier::Quick), cases(Tier::Full));
        let names: HashSet<_> = full.iter().map(|c| (c.kind, &c.name)).collect();
        assert_eq!(names.len(), full.len());
        assert!(quick.iter().all(|c| names.contains(&(c.kind, &c.name))));
        assert!(quick.len() > 300 && full.len() > 2 * quick.len(), "{} of {}", quick.len(), full.len());
    }
}
