//! Shapes, dtypes, definitions.

use super::super::case::Case;
use super::super::data::{Regime, Weights};
use super::{HIDDEN, List, MORE_HIDDEN};
use crate::dtype::DType;
use crate::preset::Preset;
use crate::spec::NormSpec;

pub(super) fn shapes(list: &mut List) {
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

pub(super) fn mixes(list: &mut List) {
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

pub(super) fn presets(list: &mut List) {
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
