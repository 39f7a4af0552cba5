//! The other members of the family: LayerNorm, gates, groups and heads, partial statistics, `rstd`, codes, shards.

use super::super::case::{Arrangement, Case, Lowered, Twin};
use super::super::data::{Regime, Weights};
use super::List;
use crate::dtype::DType;
use crate::plan::{Access, Force, Rung};
use crate::preset::Preset;
use crate::spec::NormSpec;

/// What every member is put through: other shapes, layouts, choices, limits and batches, with the same bits; and the range.
struct Member<'a> {
    kind: &'static str,
    /// Names the variant in the names of its cases.
    name: String,
    spec: NormSpec,
    /// Whether all of it belongs to the quick tier, or one case only.
    quick: bool,
    list: &'a mut List,
}

impl Member<'_> {
    fn add(&mut self, name: &str, rows: u64, change: impl Fn(Case) -> Case) {
        let case = Case::new(self.kind, format!("{}, {name}", self.name), self.spec, rows);
        self.list.push(change(case.quick_if(self.quick)));
    }

    fn everywhere(&mut self) {
        let spec = self.spec;
        self.add("9 rows", 9, Case::quick);
        for (name, regime) in [
            ("mixed rows", Regime::Mixed),
            ("any finite", Regime::AnyFinite),
            ("zeros", Regime::Constant(0.0)),
            ("constant rows", Regime::Constant(0.7)),
            ("NaN and infinity", Regime::Spoiled),
            ("3e38", Regime::Alternating(3e38)),
            ("subnormal", Regime::Subnormal),
            ("huge among tiny", Regime::Spike(3e38, 1e-30)),
        ] {
            self.add(name, 10, |case| if regime == Regime::Mixed { case.regime(regime).quick() } else { case.regime(regime) });
            self.spec.eps = 0.0;
            self.add(&format!("{name}, eps 0, any finite weight"), 10, |case| case.regime(regime).weights(Weights::AnyFinite));
            self.spec = spec;
        }
        for (name, arrangement) in [
            ("offset 1", Arrangement { offset: 1, ..Default::default() }),
            ("offset 3, gap 5", Arrangement { offset: 3, gap: 5, ..Default::default() }),
            ("arena", Arrangement { arena: true, offset: 1, ..Default::default() }),
            ("arena, paged", Arrangement { arena: true, paged: true, ..Default::default() }),
        ] {
            self.add(name, 11, |case| case.arranged(arrangement));
        }
        if spec.input == spec.output_dtype() && !spec.is_stats() {
            for offset in [0, 1] {
                let arrangement = Arrangement { in_place: true, offset, ..Default::default() };
                self.add(&format!("in place, offset {offset}"), 11, |case| case.arranged(arrangement));
            }
        }
        for rung in [Rung::Looped, Rung::Multi, Rung::Solo] {
            self.add(rung.name(), 300, |case| case.forced(Force::default().rung(rung)).regime(Regime::Mixed));
        }
        for width in [1, 2] {
            self.add(&format!("width {width}"), 20, |case| case.forced(Force::default().width(width)));
        }
        self.add("by words", 5, |case| case.forced(Force::default().access(Access::Word)));
        let as_gpu = Lowered { as_gpu: true, ..Default::default() };
        self.add("as on a GPU", 300, |case| case.lowered(as_gpu).regime(Regime::Mixed));
        self.add("as on a GPU, rows alone", 300, |case| case.lowered(as_gpu).twin(Twin::RowsAlone(vec![0, 150, 299])));
        self.add("rows alone", 300, |case| case.regime(Regime::Mixed).twin(Twin::RowsAlone(vec![0, 1, 2, 3, 4, 255, 256, 299])));
        self.add("293 of 300 rows", 300, |mut case| {
            case.recorded = Some(293);
            case
        });
        let narrow = Lowered { max_binding: Some(16_384), ..Default::default() };
        self.add("bindings of 16 KiB", 300, |case| case.lowered(narrow));
        if spec.quantized.is_none() && !spec.is_stats() && spec.shard.is_none() && !spec.adds_after() {
            self.add("neutral operands", 30, |case| case.regime(Regime::Mixed).twin(Twin::Neutral));
        }
    }
}

/// A member in all dtypes, of even and of odd rows; the quick tier has the whole of one of them.
fn everywhere(list: &mut List, kind: &'static str, what: &str, even: NormSpec, odd: NormSpec) {
    for dtype in DType::ALL {
        for (base, is_odd) in [(even, false), (odd, true)] {
            let quick = (dtype, is_odd) == (DType::F16, true);
            let name = format!("{what} {} {dtype}", base.hidden);
            Member { kind, name, spec: base.dtype(dtype), quick, list }.everywhere();
        }
    }
}

pub(super) fn layer_norm(list: &mut List) {
    let of = |hidden| NormSpec::layer_norm(hidden, 1e-5);
    everywhere(list, "layer norm", "plain", of(96), of(101));
    everywhere(list, "layer norm", "of heads", of(96).heads(4), of(99).heads(3));
    for (index, hidden) in super::HIDDEN.into_iter().chain(super::MORE_HIDDEN).enumerate() {
        for (d, dtype) in DType::ALL.into_iter().enumerate() {
            let case = Case::new("layer norm", format!("hidden {hidden} {dtype}"), of(hidden).dtype(dtype), 5);
            list.push(case.quick_if(d == index % 3 && index < super::HIDDEN.len() && index % 2 == 0));
        }
    }
    // Small variations about a large mean, down to a unit in the last place.
    for (mean, spread) in [(1.0, 1e-3), (1e4, 1.0), (1e6, 0.1), (1e30, 1e26), (-1e-30, 1e-33), (1e38, 1e37), (3.0, 4e-7)] {
        for hidden in [8, 1000, 4096, 65_536] {
            let case = Case::new("layer norm", format!("{mean:e} with {spread:e}, {hidden}"), of(hidden), 4);
            list.push(case.regime(Regime::About { mean, spread }).quick_if(hidden == 1000));
            let spec = NormSpec { eps: 0.0, ..of(hidden) };
            let case = Case::new("layer norm", format!("{mean:e} with {spread:e}, {hidden}, eps 0"), spec, 4);
            list.push(case.regime(Regime::About { mean, spread }).quick_if(hidden == 8));
        }
    }
    // Rows of equal elements have no variance, whatever the rounding of their mean.
    for value in [0.1, 0.3, 1.1, 1.9, 3.3, 1e-20, 1e30] {
        for hidden in [1312, 1000, 4099] {
            let spec = NormSpec { eps: 0.0, ..of(hidden) };
            let case = Case::new("layer norm", format!("constant {value:e} row of {hidden}, eps 0"), spec, 1);
            list.push(case.regime(Regime::Constant(value)).quick_if(hidden == 1000));
        }
    }
    for (dtype, most) in [(DType::F16, 1e-3), (DType::BF16, 1e-4)] {
        let spec = NormSpec::layer_norm(1024, 1e-5).dtype(dtype);
        let mut case = Case::new("layer norm", format!("rounding of a million {dtype}"), spec, 1024);
        case.most_misrounded = Some(most);
        list.push(case);
    }
}

pub(super) fn gated(list: &mut List) {
    let (torch, llama) = (|hidden| NormSpec::torch(hidden, 1e-5), |hidden| NormSpec::llama(hidden, 1e-5));
    let f32 = DType::F32;
    everywhere(list, "gated", "before", torch(96).gate_input(f32), torch(101).gate_input(f32));
    everywhere(list, "gated", "before, groups", llama(96).groups(2).gate_input(f32), llama(99).groups(3).gate_input(f32));
    everywhere(list, "gated", "after", torch(96).bias(f32).gate_output(f32), torch(101).gate_output(f32));
    everywhere(list, "gated", "after a rounded norm", llama(96).gate_output(f32), llama(101).gate_output(f32));
    let sigmoid = |hidden| torch(hidden).gate_output(f32).sigmoid();
    everywhere(list, "gated", "by a sigmoid", sigmoid(96), sigmoid(101));
    for input in DType::ALL {
        for gate in DType::ALL {
            let spec = llama(130).dtype(input);
            for (name, spec) in [
                ("before", spec.gate_input(gate)),
                ("after", spec.gate_output(gate)),
                ("before, by a sigmoid", spec.gate_input(gate).sigmoid()),
                ("residual, then after", spec.add_residual(gate).gate_output(gate)),
                ("LayerNorm, after", NormSpec::layer_norm(130, 1e-5).dtype(input).gate_output(gate)),
            ] {
                list.push(Case::new("gated", format!("{input} by {gate} {name}"), spec, 9).quick_if(input != gate));
            }
        }
    }
    for (dtype, most) in [(DType::F16, 1e-3), (DType::BF16, 1e-4)] {
        for (name, spec) in [("before", torch(1024).gate_input(f32)), ("after", torch(1024).gate_output(f32))] {
            let mut case = Case::new("gated", format!("rounding of a million {name} {dtype}"), spec.dtype(dtype), 1024);
            case.most_misrounded = Some(most);
            list.push(case);
        }
    }
}

pub(super) fn grouped(list: &mut List) {
    let of = |hidden| NormSpec::torch(hidden, 1e-6);
    everywhere(list, "groups", "3 groups", of(96).groups(3), of(99).groups(3));
    everywhere(list, "groups", "3 groups with bias", of(96).groups(3).bias(DType::F32), of(99).groups(3).bias(DType::F32));
    everywhere(list, "groups", "heads", of(128).heads(8), of(63).heads(7));
    let qk = |hidden| NormSpec::gemma(hidden, 1e-6);
    everywhere(list, "groups", "query and key heads", qk(96).query_and_key_heads(4, 2), qk(91).query_and_key_heads(5, 2));
    for (query, key, length, dtype) in
        [(32, 8, 128, DType::BF16), (16, 2, 64, DType::F16), (8, 4, 256, DType::F32), (3, 1, 33, DType::F16)]
    {
        let spec = NormSpec::llama((query + key) * length, 1e-6).dtype(dtype).query_and_key_heads(query, key);
        let fused = Arrangement { in_place: true, gap: key * length, ..Default::default() };
        let name = format!("{query} + {key} heads of {length} {dtype} in a fused projection");
        list.push(Case::new("groups", name, spec, 17).arranged(fused).quick_if(length < 100));
    }
    for preset in Preset::ALL {
        for dtype in DType::ALL {
            let spec = preset.spec(120, 1e-6).dtype(dtype).groups(5);
            list.push(Case::new("groups", format!("{preset} {dtype}"), spec, 9).quick_if(dtype == DType::BF16));
        }
    }
}

pub(super) fn partial(list: &mut List) {
    let of = |hidden| NormSpec::torch(hidden, 1e-6);
    everywhere(list, "partial", "6 channels", of(96).partial(6), of(101).partial(6));
    everywhere(list, "partial", "64 channels", of(96).partial(64), of(101).partial(64));
    // x · r overflows, and x · r · w does not.
    let case = Case::new("partial", "far beyond the statistic", of(101).partial(6), 9).weights(Weights::Constant(1e-12));
    list.push(case.regime(Regime::Spike(3e38, 1e-5)));
    for (hidden, channels) in [(4096, 256), (4096, 4095), (1000, 1), (769, 48), (65_536, 4096), (8, 8), (1, 1)] {
        for dtype in DType::ALL {
            let case =
                Case::new("partial", format!("{channels} of {hidden} {dtype}"), of(hidden).dtype(dtype).partial(channels), 5);
            list.push(case.quick_if(dtype == DType::F16));
        }
    }
}

pub(super) fn rstd(list: &mut List) {
    let of = |hidden| NormSpec::torch(hidden, 1e-6).rstd();
    everywhere(list, "rstd", "plain", of(96), of(101));
    everywhere(list, "rstd", "of groups", of(96).groups(3), of(99).groups(3));
    everywhere(list, "rstd", "with a sum", of(96).add_residual(DType::F32), of(101).add_residual(DType::F32));
}

pub(super) fn codes(list: &mut List) {
    let of = |hidden| NormSpec::torch(hidden, 1e-6);
    for code in DType::CODES {
        everywhere(list, "codes", &format!("{code}"), of(96).quantized(code), of(101).quantized(code));
        let biased = |hidden| NormSpec::torch(hidden, 1e-6).bias(DType::F32).quantized(code);
        everywhere(list, "codes", &format!("{code} with bias"), biased(96), biased(103));
        everywhere(list, "codes", &format!("{code} by 0.02"), of(96).quantized_by(code, 0.02), of(102).quantized_by(code, 0.02));
        for preset in Preset::ALL {
            let spec = preset.spec(130, 1e-6).dtype(DType::BF16).quantized(code);
            list.push(Case::new("codes", format!("{code} {preset}"), spec, 33));
        }
        for hidden in [1, 2, 3, 4, 5, 7, 4096, 4099] {
            let spec = of(hidden).dtype(DType::F16).quantized(code).rstd();
            list.push(Case::new("codes", format!("{code} of {hidden}"), spec, 9).quick_if(hidden < 10));
        }
        let spec = NormSpec::llama(512, 1e-6).dtype(DType::F16).heads(4).quantized(code);
        list.push(Case::new("codes", format!("{code} by head"), spec, 20));
        let spec = NormSpec::llama(130, 1e-6).dtype(DType::F16).add_residual(DType::F32).gate_output(DType::F16).quantized(code);
        list.push(Case::new("codes", format!("{code} of a gated sum"), spec, 20));
    }
}

pub(super) fn shards(list: &mut List) {
    let of = |hidden| NormSpec::torch(hidden, 1e-6);
    everywhere(list, "shards", "stats", of(96).stats(), of(101).stats());
    everywhere(list, "shards", "apply 3", of(96).apply(300, 3), of(101).apply(301, 3));
    for (shards, total) in [(1, 96), (2, 200), (7, 800), (64, 8192)] {
        for dtype in DType::ALL {
            let spec = NormSpec::llama(96, 1e-6).dtype(dtype).bias(dtype).apply(total, shards);
            for (name, regime) in [("normal", Regime::Normal(1.0)), ("mixed", Regime::Mixed), ("any finite", Regime::AnyFinite)] {
                list.push(Case::new("shards", format!("apply {shards} {dtype} {name}"), spec, 10).regime(regime));
            }
        }
    }
    // Equal statistics round the same way every time.
    for value in [1.145, 0.617] {
        let case = Case::new("shards", format!("apply 256, constant {value:e}"), of(96).apply(96 * 256, 256), 3);
        list.push(case.regime(Regime::Constant(value)));
    }
    for hidden in [1, 7, 4096, 65_537] {
        list.push(Case::new("shards", format!("stats of {hidden}"), of(hidden).stats(), 5).regime(Regime::Mixed));
    }
}
