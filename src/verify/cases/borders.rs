//! Values at the borders where a kernel changes its way, and operands that lie or are filled each in its own manner.

use super::super::case::{Arrangement, Case, Lowered};
use super::super::data::{Regime, Weights};
use super::List;
use crate::dtype::DType;
use crate::spec::NormSpec;

/// Another stride for every operand: none may be taken for another's.
pub(super) fn uneven(list: &mut List) {
    let f32 = DType::F32;
    for hidden in [96, 99] {
        for dtype in DType::ALL {
            let torch = NormSpec::torch(hidden, 1e-6).dtype(dtype);
            for (name, spec) in [
                ("plain", torch),
                ("sum", torch.add_residual(dtype)),
                ("sum on an f32 stream, rstd", torch.add_residual(f32).rstd()),
                ("added after", torch.then_add_residual(dtype)),
                ("gate before", torch.gate_input(dtype).rstd()),
                ("sum, gate after", torch.add_residual(dtype).gate_output(dtype)),
                ("heads, rstd", NormSpec::llama(hidden, 1e-6).dtype(dtype).heads(3).rstd()),
                ("codes", torch.quantized(DType::I8)),
                ("codes of a gated sum", torch.add_residual(f32).gate_output(dtype).quantized(DType::F8E4M3)),
                ("shards", torch.apply(300, 3).then_add_residual(dtype)),
                ("stats", NormSpec::torch(hidden, 1e-6).dtype(dtype).stats()),
            ] {
                let quick = (dtype == DType::BF16) == (hidden == 99);
                for (how, arrangement) in [
                    ("apart", Arrangement { uneven: true, ..Default::default() }),
                    ("in an arena", Arrangement { uneven: true, arena: true, offset: 1, ..Default::default() }),
                ] {
                    let case = Case::new("uneven", format!("{name} {hidden} {dtype} {how}"), spec, 11);
                    list.push(case.arranged(arrangement).quick_if(quick));
                }
                let narrow = Lowered { max_binding: Some(16_384), ..Default::default() };
                let case = Case::new("uneven", format!("{name} {hidden} {dtype}, bindings of 16 KiB"), spec, 300);
                let arrangement = Arrangement { uneven: true, ..Default::default() };
                list.push(case.arranged(arrangement).lowered(narrow).quick_if(quick && hidden == 99));
            }
        }
    }
}

/// Gates that are shut where rows are huge, and the other way round; sums that cancel or vanish in one another.
pub(super) fn beside(list: &mut List) {
    let torch = NormSpec::torch(100, 0.0);
    let regimes = [
        ("huge", Regime::Normal(1e30)),
        ("tiny", Regime::Normal(1e-30)),
        ("subnormal", Regime::Subnormal),
        ("usual", Regime::Normal(1.0)),
        ("any finite", Regime::AnyFinite),
    ];
    let gates = [
        ("gates of -60", Regime::Constant(-60.0)),
        ("gates of -95", Regime::Constant(-95.0)),
        ("gates about -150", Regime::About { mean: -150.0, spread: 50.0 }),
        // Lower ones take tiny rows out of the range of float64, and so of what can be checked.
        ("gates about -600", Regime::About { mean: -600.0, spread: 10.0 }),
        ("gates of 3e38", Regime::Constant(3e38)),
        ("subnormal gates", Regime::Subnormal),
        ("any gates", Regime::AnyFinite),
    ];
    let f32 = DType::F32;
    for (name, regime) in regimes {
        for (of_gate, gate) in gates {
            for (how, spec) in [
                ("before", torch.gate_input(f32)),
                ("after", torch.gate_output(f32)),
                ("after, with bias", torch.bias(f32).gate_output(f32)),
                ("after a rounded norm", NormSpec::llama(100, 0.0).gate_output(f32)),
                ("sigmoid after", torch.gate_output(f32).sigmoid()),
                ("after, in codes", torch.gate_output(f32).quantized_by(DType::F8E4M3, 1e-3)),
            ] {
                for (of_weight, weights) in [("", Weights::Usual), (", any weight", Weights::AnyFinite)] {
                    let case = Case::new("beside", format!("{name}, {of_gate}, {how}{of_weight}"), spec, 9);
                    let quick = of_weight.is_empty() == (how == "after" || how == "before");
                    list.push(case.regime(regime).beside(gate).weights(weights).quick_if(quick));
                }
            }
        }
        for (of_residual, residual) in regimes {
            for (how, spec) in [("before", torch.add_residual(f32)), ("after", torch.then_add_residual(f32))] {
                let case = Case::new("beside", format!("{name}, residual {of_residual}, {how}"), spec, 9);
                list.push(case.regime(regime).beside(residual));
            }
        }
    }
    // The weight takes the result beyond f32, and the gate takes it back.
    let spec = torch.gate_output(f32);
    let case = Case::new("beside", "one outlier times 3e38, gates of -40", spec, 9).weights(Weights::Constant(3e38));
    list.push(case.regime(Regime::Spike(10.0, 1.0)).beside(Regime::Constant(-40.0)));
    // The bias counts where the product is at its size, whatever its factors are.
    for (x, w) in [(2f64.powi(-126), 2f64.powi(127)), (2f64.powi(127), 2f64.powi(-126)), (2f64.powi(-149), 2f64.powi(127))] {
        for (how, spec) in
            [("", torch.bias(f32).gate_output(f32)), (", in codes", torch.bias(f32).gate_output(f32).quantized(DType::I8))]
        {
            let case = Case::new("beside", format!("{x:e} times {w:e} and a bias, gates of -60{how}"), spec, 3);
            let case = case.regime(Regime::Spike(1.0, x)).weights(Weights::Constant(w)).beside(Regime::Constant(-60.0));
            list.push(case);
        }
    }
}

/// Codes at the ends of their range, their smallest scale, and products that leave f32's range where results do not.
pub(super) fn codes(list: &mut List) {
    let torch = |hidden| NormSpec::torch(hidden, 0.0);
    let ends = [447.0, 448.0, 455.9, 464.0, 465.0, 479.0, 480.0, 1e30];
    for value in ends.into_iter().chain([126.4, 126.5, 127.4, 127.6, 128.5, 2f64.powi(-9), 0.0009, 0.0011, 0.015]) {
        for code in DType::CODES {
            let spec = torch(20).quantized_by(code, 1.0);
            let case = Case::new("borders of codes", format!("{code} of {value:e}"), spec, 2);
            list.push(case.regime(Regime::Alternating(1.0)).weights(Weights::Constant(value)));
        }
    }
    for code in DType::CODES {
        for hidden in [20, 96] {
            for (name, regime, weight) in [
                ("smallest scale", Regime::Normal(1.0), 1e-37),
                ("a scale below the smallest", Regime::Normal(1.0), 1e-38),
                ("largest scale", Regime::Normal(1.0), 1e38),
                ("product below f32", Regime::Normal(1e-8), 1e-35),
                ("product close to the smallest", Regime::Normal(1e-8), 1e-28),
                ("product beyond f32", Regime::Normal(1e8), 1e35),
                ("product close to the largest", Regime::Normal(1e8), 1e29),
            ] {
                let case = Case::new("borders of codes", format!("{code} {name}, {hidden}"), torch(hidden).quantized(code), 5);
                list.push(case.regime(regime).weights(Weights::Constant(weight)));
            }
        }
    }
}

/// Rows whose sum of squares is at the border of the rescue, and an eps that outweighs them.
pub(super) fn rescue(list: &mut List) {
    let f32 = DType::F32;
    for hidden in [64, 100] {
        for (name, spec) in [
            ("norm", NormSpec::torch(hidden, 0.0)),
            ("LayerNorm", NormSpec::layer_norm(hidden, 0.0)),
            ("codes", NormSpec::torch(hidden, 0.0).quantized(DType::I8)),
            ("stats", NormSpec::torch(hidden, 0.0).stats()),
            ("apply", NormSpec::torch(hidden, 0.0).apply(3 * hidden, 3)),
        ] {
            for (at, size) in [
                ("below 2^-64", 2f64.powi(-35) * 0.9),
                ("2^-64", 2f64.powi(-35)),
                ("above 2^-64", 2f64.powi(-35) * 1.2),
                ("below 2^128", 2f64.powi(61) * 0.9),
                ("2^128", 2f64.powi(61)),
                ("above 2^128", 2f64.powi(61) * 1.1),
            ] {
                for (how, regime) in [("equal", Regime::Alternating(size)), ("normal", Regime::Normal(size))] {
                    let case = Case::new("borders of the rescue", format!("{name} of {hidden}, {how}, {at}"), spec, 6);
                    list.push(case.regime(regime).quick_if(how == "normal"));
                }
            }
        }
        for eps in [1e-45, 1e-30, 1e30, f32::MAX] {
            for (name, regime) in [
                ("mixed", Regime::Mixed),
                ("3e16", Regime::Normal(3e16)),
                ("1e18", Regime::Normal(1e18)),
                ("1e-22", Regime::Normal(1e-22)),
                ("any finite", Regime::AnyFinite),
            ] {
                for shards in [1, 2, 7] {
                    let spec = NormSpec::torch(hidden, eps).apply(hidden * shards + shards / 2, shards).bias(f32);
                    let case =
                        Case::new("borders of the rescue", format!("apply {shards} of {hidden}, eps {eps:e}, {name}"), spec, 6);
                    list.push(case.regime(regime).quick_if(shards == 7));
                }
            }
        }
    }
}
