//! Sums over rows: a million of them, in every device's order, added to what is there, from several recordings and batches, and of none.

use libtest_mimic::Failed;
use wgpu_rmsnorm::verify::{Data, Regime, Weights};
use wgpu_rmsnorm::wgpu::util::{BufferInitDescriptor, DeviceExt};
use wgpu_rmsnorm::{Caps, DType, DeviceKind, Gpu, Inputs, NormSpec, Operands, Slot, Values, reference, wgpu};

use crate::passes;

pub fn a_million_rows_stay_accurate(gpu: &Gpu) -> Result<(), Failed> {
    let spec = NormSpec::torch(8, 1e-6).bias(DType::F32).backward();
    // All gradients point one way, where sums lose most.
    let rows = 1 << 20;
    let x: Vec<f32> = (0..rows * 8u64).map(|i| 1.0 + (i.wrapping_mul(2_654_435_761) % 997) as f32 / 997.0).collect();
    let d: Vec<f32> = (0..rows * 8u64).map(|i| 0.1 + (i.wrapping_mul(40_503) % 983) as f32 / 983.0).collect();
    let w = [1.0f32; 8];
    let inputs = Inputs::new(&x).weight(&w).grad_output(&d);
    let truth = reference::gradients(&spec, &inputs)?;
    let found = gpu.norm(spec)?.run_all_blocking(&inputs)?;
    for (slot, truth) in [(Slot::GradWeight, &truth.weight), (Slot::GradBias, &truth.bias)] {
        let got = found.get(slot).ok_or("no sum")?.as_slice().widen();
        let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
        let off = norm(&mut got.iter().zip(truth).map(|(got, truth)| got - truth)) / norm(&mut truth.iter().copied());
        if off.is_nan() || off > 1e-6 {
            return Err(format!("{slot}: {off:e} of its norm").into());
        }
    }
    Ok(())
}

/// Sums over rows whose terms are exact have the bits of the tree in `plan`, written out here once more: chains of 16 rows, and a
/// tree over these by their numbers. So they are the same on every device.
pub fn the_order_is_every_devices(gpu: &Gpu) -> Result<(), Failed> {
    let spec = NormSpec::layer_norm(16, 1e-6).backward();
    has_the_bits(gpu, &spec, Slot::GradBias, |data| widened(data, Slot::GradOutput))
}

/// What a row adds to the weight's gradient is d · (x · rstd), rounded after either product: with one `rstd` for all devices, the
/// gradient has the same bits on all of them.
pub fn given_rstd_the_weights_gradient_is_every_devices(gpu: &Gpu) -> Result<(), Failed> {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let spec = NormSpec::torch(16, 1e-6).dtype(dtype).backward().saved_rstd().parameter_gradients(DType::F32);
        has_the_bits(gpu, &spec, Slot::GradWeight, |data| {
            let (x, rstd) = (widened(data, Slot::Input), widened(data, Slot::SavedRstd));
            let d = widened(data, Slot::GradOutput);
            d.iter().zip(&x).enumerate().map(|(at, (d, x))| d * (x * rstd[at / 16])).collect()
        })?;
    }
    Ok(())
}

fn widened(data: &Data, slot: Slot) -> Vec<f32> {
    data.get(slot).map(|values| values.as_slice().widen().iter().map(|v| *v as f32).collect()).unwrap_or_default()
}

/// A sum over rows of 16 channels has the bits of `terms`, added in the order of the plan, whatever kind the device is said to be of.
fn has_the_bits(gpu: &Gpu, spec: &NormSpec, sum: Slot, terms: impl Fn(&Data) -> Vec<f32>) -> Result<(), Failed> {
    for rows in [1u64, 17, 300, 5000] {
        let data = Data::new(spec, rows, Regime::Normal(1.0), Weights::Usual);
        let terms = terms(&data);
        let expected: Vec<f32> = (0..16)
            .map(|channel| {
                let terms: Vec<f32> = terms[channel..].iter().step_by(16).copied().collect();
                tree(&terms.chunks(16).map(|chain| chain.iter().fold(0.0, |sum, term| sum + term)).collect::<Vec<_>>())
            })
            .collect();
        for kind in [DeviceKind::Cpu, DeviceKind::Gpu] {
            let gpu = gpu.with_caps(Caps { kind, ..*gpu.caps() });
            let found = gpu.norm(*spec)?.run_all_blocking(&data.inputs())?;
            let got = found.get(sum).ok_or("no sum")?.clone().into_vec::<f32>()?;
            if got.iter().zip(&expected).any(|(got, expected)| got.to_bits() != expected.to_bits()) {
                return Err(format!("{rows} rows, {kind:?}: {got:?} instead of {expected:?}").into());
            }
        }
    }
    Ok(())
}

/// The largest power of two of leaves that is less than all, and the rest.
fn tree(leaves: &[f32]) -> f32 {
    match leaves {
        [leaf] => *leaf,
        _ => {
            let (low, high) = leaves.split_at(leaves.len().next_power_of_two() / 2);
            tree(low) + tree(high)
        }
    }
}

pub fn i5_sums_are_written_over_or_added_to(gpu: &Gpu) -> Result<(), Failed> {
    let spec = NormSpec::layer_norm(9, 1e-6).backward();
    let (x, d, w) = ([0.5f32; 9], [2.0f32; 9], [1.0f32; 9]);
    let inputs = Inputs::new(&x).weight(&w).grad_output(&d);
    let sums = |spec: NormSpec, inputs: &Inputs<'_>| -> Result<Vec<f32>, Failed> {
        let found = gpu.norm(spec)?.run_all_blocking(inputs)?;
        Ok(found.get(Slot::GradBias).ok_or("no sum")?.clone().into_vec()?)
    };
    let there = [7.0f32; 9];
    let added = inputs.grad_weight(&there).grad_bias(&there);
    for (got, expected) in
        [(sums(spec, &inputs)?, 2.0), (sums(spec.accumulate(), &inputs)?, 2.0), (sums(spec.accumulate(), &added)?, 9.0)]
    {
        if got != [expected; 9] {
            return Err(format!("{got:?} instead of {expected}").into());
        }
    }
    // A pass that writes over what is there does not read it.
    match gpu.norm(spec)?.run_all_blocking(&added) {
        Err(error) if error.to_string().contains("grad_weight") => Ok(()),
        other => Err(format!("{other:?}").into()),
    }
}

fn filled(gpu: &Gpu, value: f32, elements: usize) -> wgpu::Buffer {
    let contents: Vec<u8> = vec![value; elements].iter().flat_map(|v| v.to_le_bytes()).collect();
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
    gpu.device().create_buffer_init(&BufferInitDescriptor { label: None, contents: &contents, usage })
}

/// Recordings of one pass share the scratch buffer, one after the other: each with its own number of rows.
pub fn l8_recordings_of_one_pass_accumulate(gpu: &Gpu) -> Result<(), Failed> {
    let spec = NormSpec::layer_norm(8, 1e-6).backward().accumulate();
    let [x, d, dx] = [1.0, 2.0, 0.0].map(|value| filled(gpu, value, 8 * 1000));
    let [w, dw, db] = [1.0, 0.0, 7.0].map(|value| filled(gpu, value, 8));
    let operands = Operands::backward(&x, &d, &dx).weight(&w).grad_weight(&dw).grad_bias(&db);
    let prepared = gpu.norm(spec)?.prepare_blocking(&operands, 1000)?;
    let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        for rows in [1000, 3, 0, 500] {
            prepared.record(&mut pass, rows)?;
        }
    }
    gpu.queue().submit([encoder.finish()]);
    let got = Values::from_bytes(DType::F32, &gpu.read_blocking(&db, 0..32)?);
    let expected = Values::F32(vec![7.0 + 2.0 * 1503.0; 8]);
    if got == expected { Ok(()) } else { Err(format!("{got:?} instead of {expected:?}").into()) }
}

/// What does not fit a buffer goes in batches, and its sums are rounded once.
pub fn sums_go_on_from_batch_to_batch(gpu: &Gpu) -> Result<(), Failed> {
    let spec = NormSpec::torch(64, 1e-6).dtype(DType::BF16).bias(DType::BF16).backward();
    let data = Data::new(&spec, 3000, Regime::Normal(1.0), Weights::Usual);
    let small = gpu.with_caps(Caps { max_buffer: 64 << 10, max_binding: 64 << 10, ..*gpu.caps() });
    passes(&spec, &data.inputs(), &small.norm(spec)?.run_all_blocking(&data.inputs())?)
}

pub fn f3_without_rows_sums_are_zero(gpu: &Gpu) -> Result<(), Failed> {
    let spec = NormSpec::torch(16, 1e-6).backward();
    let buffer = |value, elements| filled(gpu, value, elements);
    let (x, d, dx, w, dw) = (buffer(1.0, 64), buffer(1.0, 64), buffer(5.0, 64), buffer(1.0, 16), buffer(7.0, 16));
    let operands = Operands::backward(&x, &d, &dx).weight(&w).grad_weight(&dw);
    for prepared_for in [0, 4] {
        let prepared = gpu.norm(spec)?.prepare_blocking(&operands, prepared_for)?;
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        prepared.record_in(&mut encoder, 0)?;
        gpu.queue().submit([encoder.finish()]);
        let got = Values::from_bytes(DType::F32, &gpu.read_blocking(&dw, 0..64)?);
        if got != Values::F32(vec![0.0; 16]) {
            return Err(format!("prepared for {prepared_for} rows: {got:?}").into());
        }
    }
    match Values::from_bytes(DType::F32, &gpu.read_blocking(&dx, 0..256)?) {
        left if left == Values::F32(vec![5.0; 64]) => Ok(()),
        written => Err(format!("{written:?}").into()),
    }
}
