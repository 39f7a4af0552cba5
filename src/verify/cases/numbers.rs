//! The range of numbers, the accuracy of sums, and single inputs on which others failed.

use super::super::case::Case;
use super::super::data::{Regime, Weights};
use super::List;
use crate::dtype::DType;
use crate::spec::NormSpec;

pub(super) fn regimes(list: &mut List) {
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
    // Products and biases that are subnormal, one or both, where their sum is not.
    let spec = NormSpec::torch(4096, 1e30).weight(DType::BF16).bias(DType::BF16);
    let case = Case::new("range", "products and biases near the smallest normal number", spec, 3).regime(AnyFinite);
    list.push(case.weights(Weights::AnyFinite));
    // Products that overflow before the bias brings them back.
    let spec = NormSpec::torch(96, 1e-6).bias(DType::F32);
    list.push(Case::new("range", "weight near the largest, with bias", spec, 10).weights(Weights::Constant(1e38)));
}

pub(super) fn accuracy(list: &mut List) {
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

pub(super) fn restated(list: &mut List) {
    let torch = NormSpec::torch;
    let residual = |hidden: u64, dtype: DType| torch(hidden, 1e-6).dtype(dtype).add_residual(dtype);
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
    add("A7 2 x 3584 f16, residual", residual(3584, DType::F16), 2, Regime::Normal(1.0), usual);
    add("A9 1 x 49152", torch(49_152, 1e-6), 1, Regime::Normal(1.0), usual);
    add("A9 1 x 49152, LayerNorm", NormSpec::layer_norm(49_152, 1e-6), 1, Regime::Normal(1.0), usual);
    add("B7 2 x 65537", torch(65_537, 1e-5), 2, Regime::Normal(1.0), usual);
    add("B7 2 x 131072", torch(131_072, 1e-5), 2, Regime::Normal(1.0), usual);
    add("C1 300 in f16", torch(64, 1e-6).dtype(DType::F16), 2, Regime::Constant(300.0), ones);
    add("C4 one 2 among ones in bf16", torch(4096, 1e-6).dtype(DType::BF16), 1, Regime::Spike(2.0, 1.0), ones);
    add("C5 outliers of 40", torch(4096, 1e-6), 1, Regime::Outliers, usual);
    add("C10 70000 ones in f16", torch(70_000, 1e-6).dtype(DType::F16), 1, Regime::Constant(1.0), ones);
    let far = Regime::About { mean: 500.015, spread: 0.01 };
    add("C6 LayerNorm of 16 near 500", NormSpec::layer_norm(16, 1e-5), 1, far, usual);
    add("C7 LayerNorm of 1000.5 alone", NormSpec::layer_norm(256, 1e-5), 1, Regime::Constant(1000.5), usual);
    add("D1 zeros, eps 1e-12, f16, LayerNorm", NormSpec::layer_norm(10, 1e-12).dtype(DType::F16), 1, Regime::Constant(0.0), ones);
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
    // The fused addition is what is elementwise here: rows of one element, more of them than 65,535 workgroups of 64 invocations.
    let case = Case::new("restated", "B10 4194241 rows of 1, residual", residual(1, DType::F32), 4_194_241);
    list.push(case.quick_if(false));
}
