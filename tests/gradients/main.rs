//! Gradients: PyTorch's own, finite differences, and sums over rows.

#[path = "../common/mod.rs"]
mod common;
mod sums;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use safetensors::{Dtype, SafeTensors};
use wgpu_rmsnorm::verify::{Data, Regime, Weights, check_gradients};
use wgpu_rmsnorm::{DType, Gpu, Inputs, NormSpec, Outputs, Slot, Values, reference};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let mut files: Vec<String> = fs::read_dir(folder())
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.contains("_backward_") || name.starts_with("layer_"))
        .collect();
    files.sort();
    let count = files.len();
    let mut trials =
        vec![
            Trial::test("all files are there", move || {
                if count == 20 { Ok(()) } else { Err(format!("{count} files instead of 20").into()) }
            }),
            Trial::test("the reference has the slopes of the norm", the_reference_has_the_slopes_of_the_norm),
            Trial::test("a wrong gradient is noticed", a_wrong_gradient_is_noticed),
        ];
    for file in files.clone() {
        trials.push(Trial::test(format!("reference: {file}"), move || the_reference_is_exact(&Golden::read(&file)?)));
    }
    common::each_adapter(&mut trials, |trials, _, name, devices| {
        for (_, file) in files.clone().into_iter().enumerate().filter(|(index, _)| devices.takes(*index)) {
            let devices = devices.clone();
            let trial = format!("[{name}] {file}");
            trials.push(Trial::test(trial, move || devices.run(|gpu| the_device_agrees(gpu, &Golden::read(&file)?))));
        }
        for (trial, test) in [
            ("a million rows stay accurate", sums::a_million_rows_stay_accurate as fn(&Gpu) -> Result<(), Failed>),
            ("the order of sums over rows is every device's", sums::the_order_is_every_devices),
            ("given rstd the weight's gradient is every device's", sums::given_rstd_the_weights_gradient_is_every_devices),
            ("i5 sums are written over, or added to", sums::i5_sums_are_written_over_or_added_to),
            ("f3 without rows sums are zero", sums::f3_without_rows_sums_are_zero),
            ("l8 recordings of one pass accumulate", sums::l8_recordings_of_one_pass_accumulate),
            ("sums go on from batch to batch", sums::sums_go_on_from_batch_to_batch),
        ] {
            let devices = devices.clone();
            trials.push(Trial::test(format!("[{name}] {trial}"), move || devices.run(test)));
        }
    });
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// A backward pass, its operands, and its gradients in float64.
struct Golden {
    spec: NormSpec,
    operands: Vec<(Slot, Values)>,
    exact: Vec<(Slot, Vec<f64>)>,
}

impl Golden {
    fn read(file: &str) -> Result<Self, Failed> {
        let bytes = fs::read(folder().join(file))?;
        let tensors = SafeTensors::deserialize(&bytes)?;
        let (_, header) = SafeTensors::read_metadata(&bytes)?;
        let metadata = header.metadata().clone().ok_or("no metadata")?;
        let values = |name: &str| -> Result<Option<Values>, Failed> {
            let Ok(tensor) = tensors.tensor(name) else { return Ok(None) };
            let dtype = match tensor.dtype() {
                Dtype::F32 => DType::F32,
                Dtype::F16 => DType::F16,
                Dtype::BF16 => DType::BF16,
                other => return Err(format!("{other:?}").into()),
            };
            Ok(Some(Values::from_bytes(dtype, tensor.data())))
        };
        let hidden = *tensors.tensor("x")?.shape().last().ok_or("rank 0")? as u64;
        let eps = metadata.get("eps").ok_or("no eps")?.parse()?;
        let x = values("x")?.ok_or("no x")?;
        let dtype = x.as_slice().dtype();
        let is_layer = metadata.get("op").is_some_and(|op| op == "layer_norm");
        let mut spec = if is_layer { NormSpec::layer_norm(hidden, eps) } else { NormSpec::torch(hidden, eps) }.dtype(dtype);
        if tensors.tensor("gate").is_ok() {
            let before = metadata.get("norm_before_gate").is_some_and(|before| before == "True");
            spec = if before { spec.gate_output(dtype) } else { spec.gate_input(dtype) };
        }
        let mut operands = vec![(Slot::Input, x)];
        for slot in [Slot::Weight, Slot::Gate, Slot::GradOutput] {
            operands.extend(values(slot.name())?.map(|values| (slot, values)));
        }
        let mut exact = Vec::new();
        for (slot, name) in
            [(Slot::Output, "input"), (Slot::GradGate, "gate"), (Slot::GradWeight, "weight"), (Slot::GradBias, "bias")]
        {
            let Ok(tensor) = tensors.tensor(&format!("exact_grad_{name}")) else { continue };
            let values = tensor.data().chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap_or_default()));
            exact.push((slot, values.collect()));
        }
        Ok(Self { spec: spec.backward(), operands, exact })
    }

    fn inputs(&self) -> Inputs<'_> {
        let nothing = Inputs::new(&[] as &[f32]);
        self.operands.iter().fold(nothing, |inputs, (slot, values)| inputs.with(*slot, Some(values.as_slice())))
    }
}

/// Eps is stored in f32, which is all that may differ.
fn the_reference_is_exact(golden: &Golden) -> Result<(), Failed> {
    let found = reference::gradients(&golden.spec, &golden.inputs())?;
    for (slot, exact) in &golden.exact {
        let ours = match slot {
            Slot::GradGate => &found.gate,
            Slot::GradWeight => &found.weight,
            Slot::GradBias => &found.bias,
            _ => &found.input,
        };
        let largest = exact.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
        if ours.len() != exact.len() || largest == 0.0 {
            return Err(format!("{slot}: {} elements, {} exact ones, {largest:e} the largest", ours.len(), exact.len()).into());
        }
        for (index, (ours, exact)) in ours.iter().zip(exact).enumerate() {
            if (ours - exact).abs() > DType::F32.ulp(largest) / 2.0 {
                return Err(format!("{slot}, element {index}: {ours:e}, exact {exact:e}").into());
            }
        }
    }
    Ok(())
}

fn the_device_agrees(gpu: &Gpu, golden: &Golden) -> Result<(), Failed> {
    let found = gpu.norm(golden.spec)?.run_all_blocking(&golden.inputs())?;
    passes(&golden.spec, &golden.inputs(), &found)
}

fn passes(spec: &NormSpec, inputs: &Inputs<'_>, found: &Outputs) -> Result<(), Failed> {
    let outcomes = check_gradients(spec, inputs, found)?;
    match outcomes.iter().find(|(_, outcome)| !outcome.passed()) {
        None => Ok(()),
        Some((slot, outcome)) => Err(format!("{slot}: {outcome:?}").into()),
    }
}

/// Of every member of the family, over random rows: the directional derivative of the norm, by central differences, is the product
/// of the gradient and the direction.
fn the_reference_has_the_slopes_of_the_norm() -> Result<(), Failed> {
    let mut runner = TestRunner::new(Config { cases: 256, failure_persistence: None, ..Config::default() });
    let norms = (1u64..9, 1u64..4, any::<[bool; 5]>(), 0.0f32..0.5, any::<u64>());
    runner
        .run(&norms, |(eighth, rows, [centered, offset, partial, groups, sigmoid], eps, kind)| {
            let hidden = eighth * 2;
            let mut spec =
                if centered { NormSpec::layer_norm(hidden, eps) } else { NormSpec::torch(hidden, eps).bias(DType::F32) };
            if offset {
                spec = spec.weight_offset(1.0);
            }
            if groups {
                spec = if kind % 2 == 0 { spec.groups(2) } else { spec.heads(2) };
            }
            spec = match kind % 3 {
                0 => spec.gate_input(DType::F32),
                1 => spec.gate_output(DType::F32),
                _ => spec,
            };
            if sigmoid && spec.gate.is_some() {
                spec = spec.sigmoid();
            }
            if partial && !centered && spec.gate.is_none() {
                spec = spec.partial(spec.group_length().div_ceil(2));
            }
            let data = Data::new(&spec.backward(), rows + kind % 5, Regime::Normal(1.0), Weights::Usual);
            slopes_agree(&spec, &data)
        })
        .map_err(|error| error.to_string().into())
}

/// The loss is the sum of outputs times their given gradients; each operand is moved in a direction of its own.
fn slopes_agree(spec: &NormSpec, data: &Data) -> Result<(), TestCaseError> {
    let fail = |error: wgpu_rmsnorm::Error| TestCaseError::fail(error.to_string());
    let backward = spec.backward();
    let found = reference::gradients(&backward, &data.inputs()).map_err(fail)?;
    let wide = |slot: Slot| data.get(slot).map(|values| values.as_slice().widen()).unwrap_or_default();
    let grad_output = wide(Slot::GradOutput);
    let bias: Vec<f64> = (0..spec.weight_length()).map(|i| 0.3 * (i as f64).sin()).collect();
    let operands = [
        (Slot::Input, wide(Slot::Input), found.input),
        (Slot::Weight, wide(Slot::Weight), found.weight),
        (Slot::Gate, wide(Slot::Gate), found.gate),
        (Slot::Bias, if data.get(Slot::Bias).is_some() { wide(Slot::Bias) } else { bias }, found.bias),
    ];
    let loss = |moved: Slot, to: &[f64]| -> Result<f64, TestCaseError> {
        let mut values: Vec<(Slot, Vec<f32>)> = Vec::new();
        for (slot, at, _) in operands.iter().filter(|(slot, ..)| spec.dtype_of(*slot).is_some()) {
            let at = if *slot == moved { to } else { at };
            values.push((*slot, at.iter().map(|v| *v as f32).collect()));
        }
        let nothing = Inputs::new(&[] as &[f32]);
        let inputs = values.iter().fold(nothing, |inputs, (slot, values)| inputs.with(*slot, Some(values.into())));
        let y = reference::norm(spec, &inputs).map_err(fail)?;
        Ok(y.iter().zip(&grad_output).map(|(y, d)| y * d).sum())
    };
    for (slot, at, gradient) in operands.iter().filter(|(slot, ..)| spec.dtype_of(*slot).is_some()) {
        prop_assert_eq!(gradient.len(), at.len(), "{}", slot);
        // The slopes by differences and by the gradient, over the same way: that between two operands that f32 holds.
        let apart = |step: f64| -> Result<f64, TestCaseError> {
            let to = |step: f64| -> Vec<f64> {
                at.iter().enumerate().map(|(i, v)| f64::from((v + step * direction(i)) as f32)).collect()
            };
            let (ahead, behind) = (to(step), to(-step));
            let difference = loss(*slot, &ahead)? - loss(*slot, &behind)?;
            let product: f64 = gradient.iter().zip(ahead.iter().zip(&behind)).map(|(g, (a, b))| g * (a - b)).sum();
            Ok((difference - product).abs() / (2.0 * step))
        };
        let step = 2f64.powi(-10);
        let (coarse, fine) = (apart(step)?, apart(step / 2.0)?);
        // What differences leave out goes with the square of the step, so half the step leaves a quarter of it; a gradient that is
        // wrong is as wrong at any step. Half, for the terms of higher order; and the ways ahead and behind differ by a rounding to
        // f32, which bends the chord by as much.
        let size: f64 = gradient.iter().map(|g| g.abs()).sum();
        prop_assert!(
            fine <= coarse / 2.0 + f64::from(f32::EPSILON) * size,
            "{}: differences and gradient are {:e} apart, and {:e} over half the step; the gradient's size is {:e}",
            slot,
            coarse,
            fine,
            size
        );
    }
    Ok(())
}

fn direction(i: usize) -> f64 {
    (1.7 * i as f64 + 0.4).cos()
}

/// Each gradient, off by little more than its model allows, fails; the others still pass.
fn a_wrong_gradient_is_noticed() -> Result<(), Failed> {
    let spec = NormSpec::layer_norm(12, 1e-5).gate_output(DType::F32).backward();
    let data = Data::new(&spec, 5, Regime::Normal(1.0), Weights::Usual);
    let truth = reference::gradients(&spec, &data.inputs())?;
    let gradients = [truth.input, truth.gate, truth.weight, truth.bias];
    let slots = [Slot::Output, Slot::GradGate, Slot::GradWeight, Slot::GradBias];
    for wrong in 0..slots.len() {
        let mut outputs = Outputs::new(Values::F32(Vec::new()));
        for (at, (slot, gradient)) in slots.iter().zip(&gradients).enumerate() {
            let mut gradient = gradient.clone();
            if at == wrong {
                // About twice what the model allows at sizes around one.
                gradient[3] += 2.5 * 18.0 * f64::from(f32::EPSILON) * gradient[3].abs().max(1.0);
            }
            outputs = outputs.with(*slot, Some(Values::round_from(DType::F32, &gradient)));
        }
        let counts: Vec<_> =
            check_gradients(&spec, &data.inputs(), &outputs)?.into_iter().map(|(_, outcome)| outcome.wrong).collect();
        let expected: Vec<_> = (0..slots.len()).map(|at| usize::from(at == wrong)).collect();
        if counts != expected {
            return Err(format!("{counts:?} instead of {expected:?}").into());
        }
    }
    Ok(())
}
