//! Reductions repeat their bits: two hundred times each, on every adapter, with and without runtime checks and zeroed workgroup memory. A
//! barrier that is missing, or scratch that is used again too early, shows as a row that differs once in a while (case H6).

#[path = "common/host.rs"]
mod common;

use common::*;
use wgpu_rmsnorm::{Caps, DType, DeviceKind, Force, Gpu, Inputs, NormSpec, Outputs, Rung, Slot, Values};

const TIMES: usize = 200;

/// A reduction, and how it is planned.
struct Reduction {
    name: &'static str,
    spec: NormSpec,
    rows: u64,
    force: Force,
    /// Planned as for a GPU: many invocations a row, and so many barriers.
    as_gpu: bool,
}

fn reductions() -> Vec<Reduction> {
    let torch = |hidden: u64| NormSpec::torch(hidden, 1e-6);
    let of = |name, spec, rows| Reduction { name, spec, rows, force: Force::default(), as_gpu: false };
    let by = |rung: Rung, reduction: Reduction| Reduction { force: Force::default().rung(rung), ..reduction };
    let on_gpu = |reduction: Reduction| Reduction { as_gpu: true, ..reduction };
    vec![
        on_gpu(of("RMSNorm of 4096", torch(4096), 3)),
        on_gpu(of("LayerNorm of 1024", NormSpec::layer_norm(1024, 1e-5), 40)),
        by(Rung::Looped, of("looped, 1000 f16", torch(1000).dtype(DType::F16), 33)),
        on_gpu(by(Rung::Multi, of("several rows at once, 128 bf16", torch(128).dtype(DType::BF16), 300))),
        on_gpu(by(Rung::Looped, of("rows that share words, 129 f16", torch(129).dtype(DType::F16), 60))),
        by(Rung::Split, of("split, 70000", torch(70_000), 1)),
        on_gpu(of("codes of 500", torch(500).quantized(DType::I8), 20)),
        on_gpu(of("backward of 300", torch(300).bias(DType::F32).backward(), 70)),
        on_gpu(of("backward of LayerNorm, 257 bf16", NormSpec::layer_norm(257, 1e-5).dtype(DType::BF16).backward(), 33)),
    ]
}

/// Values for everything that a norm reads.
fn operands(spec: &NormSpec, rows: u64) -> Vec<(Slot, Values)> {
    let read = Slot::ALL.into_iter().filter(|slot| !slot.is_written());
    read.filter_map(|slot| {
        let count = if slot.is_by_row() { rows * spec.length_of(slot) } else { spec.length_of(slot) };
        Some((slot, wave(count, spec.dtype_of(slot)?)))
    })
    .collect()
}

fn run_once(gpu: &Gpu, reduction: &Reduction, operands: &[(Slot, Values)]) -> Outputs {
    let (_, x) = operands.iter().find(|(slot, _)| *slot == Slot::Input).unwrap();
    let inputs = operands.iter().fold(Inputs::new(x), |all, (slot, values)| all.with(*slot, Some(values.as_slice())));
    pollster::block_on(gpu.norm(reduction.spec).unwrap().run_with(&inputs, reduction.force)).unwrap()
}

#[test]
fn reductions_repeat_their_bits() {
    for gpu in gpus() {
        for reduction in reductions() {
            let kind = if reduction.as_gpu { DeviceKind::Gpu } else { gpu.caps().kind };
            let gpu = gpu.with_caps(Caps { kind, ..*gpu.caps() });
            let operands = operands(&reduction.spec, reduction.rows);
            let first = run_once(&gpu, &reduction, &operands);
            for device in [&gpu, &gpu.with_runtime_checks()] {
                for time in 0..TIMES {
                    let again = run_once(device, &reduction, &operands);
                    assert_eq!(again, first, "{}, time {time} on {gpu}", reduction.name);
                }
            }
        }
    }
}
