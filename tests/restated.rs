//! Failures seen elsewhere (CASES.md) that one run of one norm cannot show: what calls leave behind, and what adds up over many.

#[path = "common/host.rs"]
mod common;

use common::*;
use wgpu_rmsnorm::{DType, Gpu, Inputs, NormSpec, Operands, Outputs, Slot, Values, wgpu};

fn run_all(gpu: &Gpu, spec: NormSpec, inputs: &Inputs<'_>) -> Outputs {
    pollster::block_on(gpu.norm(spec).unwrap().run_all(inputs)).unwrap()
}

/// E6: a residual that is fed back through 36 fused additions does not shrink or grow on the way: what is written back is rounded
/// to nearest, and so the mean signed error is noise. Truncation would lose half a unit in the last place a round.
#[test]
fn e6_a_stream_fed_back_has_no_drift() {
    const ROUNDS: u64 = 36;
    const HIDDEN: u64 = 4096;
    const ROWS: u64 = 16;
    for gpu in gpus() {
        let spec = NormSpec::torch(HIDDEN, 1e-6).dtype(DType::BF16).without_weight().add_residual(DType::BF16);
        let draw = |seed: u64| {
            let values: Vec<f64> = (0..ROWS * HIDDEN).map(|i| noise(i + seed * ROWS * HIDDEN)).collect();
            Values::round_from(DType::BF16, &values)
        };
        let mut stream = draw(0);
        let mut exact: Vec<f64> = stream.as_slice().widen();
        for round in 1..=ROUNDS {
            let x = draw(round);
            exact.iter_mut().zip(x.as_slice().widen()).for_each(|(sum, x)| *sum += x);
            let outputs = run_all(gpu, spec, &Inputs::new(&x).residual(&stream));
            stream = outputs.get(Slot::ResidualOut).unwrap().clone();
        }
        // Errors of one rounding are at most half a unit of 2^-8 of a value, and independent: their mean over all elements has a
        // standard deviation of less than the unit, times the rounds' root, over that of the elements.
        let signed = exact.iter().zip(stream.as_slice().widen()).map(|(exact, got)| (got - exact) * exact.signum());
        let mean = signed.sum::<f64>() / exact.len() as f64;
        let size = exact.iter().map(|v| v.abs()).sum::<f64>() / exact.len() as f64;
        let deviation = size * 2f64.powi(-8) * (ROUNDS as f64).sqrt() / (exact.len() as f64).sqrt();
        assert!(mean.abs() < 6.0 * deviation, "{gpu}: mean signed error {mean:e}, of noise {deviation:e}");
        // And truncation would show: it takes half a unit in the mean of every round in which the stream grows.
        let truncated = (1..=ROUNDS).fold(draw(0).as_slice().widen(), |stream, round| {
            let sums = stream.iter().zip(draw(round).as_slice().widen()).map(|(s, x)| (s + x) as f32);
            sums.map(|sum| f64::from(f32::from_bits(sum.to_bits() & 0xffff_0000))).collect()
        });
        let signed = exact.iter().zip(&truncated).map(|(exact, got)| (got - exact) * exact.signum());
        let drift = signed.sum::<f64>() / exact.len() as f64;
        assert!(drift < -6.0 * deviation, "truncation drifts by {drift:e}, of noise {deviation:e}");
    }
}

/// Of the numbers from -2 to 2, one that looks random.
fn noise(i: u64) -> f64 {
    let mixed = (i ^ (i >> 31)).wrapping_mul(0x7fb5_d329_728e_a185);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x81da_def4_bc2d_d44d);
    ((mixed ^ (mixed >> 33)) >> 11) as f64 / (1u64 << 51) as f64 - 2.0
}

/// H4, H7, J3: the calls that are not named in place leave every operand that they read as it was, bit for bit, forward and backward.
#[test]
fn h4_and_h7_operands_that_are_read_stay_as_they_are() {
    for gpu in gpus() {
        let base = NormSpec::torch(96, 1e-6).dtype(DType::BF16).bias(DType::BF16);
        for spec in [
            base,
            base.add_residual(DType::BF16).gate_output(DType::F32),
            base.then_add_residual(DType::F16),
            base.backward(),
            base.gate_input(DType::F16).backward(),
            base.add_residual(DType::BF16).backward().grad_residual_out(DType::BF16),
            NormSpec::layer_norm(96, 1e-6).backward(),
        ] {
            let rows = 21;
            let slots: Vec<_> = Slot::ALL.into_iter().filter_map(|slot| Some((slot, spec.dtype_of(slot)?))).collect();
            let buffers: Vec<_> = slots
                .iter()
                .map(|&(slot, dtype)| {
                    let count = if slot.is_by_row() { rows * spec.dense_stride(slot) } else { spec.length_of(slot) };
                    upload(gpu, &wave(count, dtype))
                })
                .collect();
            let before: Vec<_> = buffers.iter().map(|buffer| gpu.read_blocking(buffer, 0..buffer.size()).unwrap()).collect();
            let at = |slot: Slot| &buffers[slots.iter().position(|(other, _)| *other == slot).unwrap()];
            let named = Operands::new(at(Slot::Input), at(Slot::Output));
            let operands = slots.iter().zip(&buffers).fold(named, |all, ((slot, _), buffer)| all.with(*slot, buffer.into()));
            let prepared = gpu.norm(spec).unwrap().prepare_blocking(&operands, rows).unwrap();
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            prepared.record_in(&mut encoder, rows).unwrap();
            gpu.queue().submit([encoder.finish()]);
            for (((slot, _), buffer), before) in slots.iter().zip(&buffers).zip(&before) {
                let after = gpu.read_blocking(buffer, 0..buffer.size()).unwrap();
                assert_eq!(after == *before, !slot.is_written(), "{slot} of {spec:?}");
            }
        }
    }
}

/// I11: what has no backward pass says so, and nothing else is silently without one.
#[test]
fn i11_a_missing_backward_pass_is_a_typed_error() {
    let spec = NormSpec::torch(96, 1e-6);
    for without in [spec.quantized(DType::I8), spec.stats(), spec.apply(300, 3)] {
        let message = without.backward().validate().unwrap_err().to_string();
        assert!(message.contains("backward pass"), "{message}");
    }
}

/// G10, J3: results are dense, and each run's are its own: a second run changes nothing of the first.
#[test]
fn g10_results_are_dense_and_of_one_run() {
    for gpu in gpus() {
        let spec = NormSpec::torch(7, 1e-6).without_weight().dtype(DType::F16);
        let (x, y) = (wave(21, DType::F16), wave(42, DType::F16));
        let first = run_all(gpu, spec, &Inputs::new(&x));
        let kept = first.output().clone();
        assert_eq!(kept.as_slice().bytes().len(), 21 * 2);
        run_all(gpu, spec, &Inputs::new(&y));
        assert_eq!(*first.output(), kept);
    }
}

/// O7, Q1 to Q3: workgroup memory that nobody has zeroed, and checks of indices and loops, on or off: the same bits.
#[test]
fn o7_checks_and_zeroed_memory_change_no_bit() {
    for gpu in gpus() {
        let checked = gpu.with_runtime_checks();
        for (spec, rows) in [
            (NormSpec::torch(769, 1e-6).dtype(DType::F16), 7),
            (NormSpec::layer_norm(1000, 1e-5), 33),
            (NormSpec::torch(64, 1e-6).dtype(DType::BF16).add_residual(DType::BF16), 500),
            (NormSpec::torch(4099, 1e-6).bias(DType::F32).backward(), 40),
        ] {
            let inputs: Vec<_> = Slot::ALL
                .into_iter()
                .filter(|slot| !slot.is_written())
                .filter_map(|slot| {
                    let count = if slot.is_by_row() { rows * spec.length_of(slot) } else { spec.length_of(slot) };
                    Some((slot, wave(count, spec.dtype_of(slot)?)))
                })
                .collect();
            let (_, x) = inputs.iter().find(|(slot, _)| *slot == Slot::Input).unwrap();
            let all = inputs.iter().fold(Inputs::new(x), |all, (slot, values)| all.with(*slot, Some(values.as_slice())));
            assert_eq!(run_all(gpu, spec, &all), run_all(&checked, spec, &all), "{spec:?}");
        }
    }
}

/// L1, L3, L4: a wait that this library makes polls by itself, and ends: nothing else runs here that would.
#[test]
fn l1_reading_back_polls_by_itself() {
    for gpu in gpus() {
        let x = wave(64, DType::F32);
        let source = upload(gpu, &x);
        assert_eq!(gpu.read_blocking(&source, 0..256).unwrap(), x.as_slice().bytes());
        gpu.device().poll(wgpu::PollType::Poll).unwrap();
    }
}
