//! PyTorch's and Transformers' own results, against the CPU reference, the presets and every adapter.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use safetensors::{Dtype, SafeTensors};
use wgpu_rmsnorm::verify::{check, check_all};
use wgpu_rmsnorm::{BySlot, CastOrder, DType, Gpu, Inputs, NormSpec, Outputs, Preset, Slot, Values, reference};

/// One file: a norm, its operands, the framework's output and the truth.
struct Golden {
    spec: NormSpec,
    operands: BySlot<Values>,
    outputs: Outputs,
    exact: Vec<f64>,
}

impl Golden {
    fn read(path: &Path) -> Result<Self, Failed> {
        let bytes = fs::read(path)?;
        let tensors = SafeTensors::deserialize(&bytes)?;
        let (_, header) = SafeTensors::read_metadata(&bytes)?;
        let metadata = header.metadata().clone().ok_or("no metadata")?;
        let text = |key: &str| metadata.get(key).map(String::as_str);
        let values = |name: &str| -> Result<Values, Failed> {
            let tensor = tensors.tensor(name)?;
            Ok(Values::from_bytes(dtype(tensor.dtype())?, tensor.data()))
        };
        let some = |name: &str| if tensors.names().contains(&name) { values(name).map(Some) } else { Ok(None) };
        let mut operands = BySlot::default();
        for slot in [Slot::Input, Slot::Weight, Slot::Bias, Slot::Residual, Slot::Gate] {
            operands.set(slot, some(if slot == Slot::Input { "x" } else { slot.name() })?);
        }
        let outputs = Outputs::new(values("y")?).with(Slot::ResidualOut, some("residual_out")?);
        let hidden = *tensors.tensor("x")?.shape().last().ok_or("rank 0")? as u64;
        let eps = text("eps").ok_or("no eps")?.parse()?;
        let mut spec = match (text("preset").ok_or("no preset")?, text("op").ok_or("no op")?) {
            (_, "layer_norm") => NormSpec::layer_norm(hidden, eps),
            ("mamba2" | "qwen3_next", _) => NormSpec::llama(hidden, eps),
            (preset, _) => preset.parse::<Preset>()?.spec(hidden, eps),
        };
        let dtype_of = |slot: Slot| operands.get(slot).map(|values: &Values| values.as_slice().dtype());
        spec.input = dtype_of(Slot::Input).ok_or("no input")?;
        (spec.weight, spec.bias) = (dtype_of(Slot::Weight), dtype_of(Slot::Bias));
        if let Some(groups) = text("groups") {
            spec = spec.groups(groups.parse()?);
        }
        if let Some(length) = text("statistics_length") {
            spec = spec.partial(length.parse()?);
        }
        if let Some(dtype) = dtype_of(Slot::Residual) {
            spec = spec.add_residual(dtype);
        }
        if let Some(dtype) = dtype_of(Slot::Gate) {
            spec = if text("norm_before_gate") == Some("True") { spec.gate_output(dtype) } else { spec.gate_input(dtype) };
        }
        let exact =
            tensors.tensor("exact_y")?.data().chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap_or_default()));
        Ok(Self { spec, operands, outputs, exact: exact.collect() })
    }

    fn inputs(&self) -> Inputs<'_> {
        let nothing = Inputs::new(&[] as &[f32]);
        self.operands.iter().fold(nothing, |inputs, (slot, values)| inputs.with(slot, Some(values.as_slice())))
    }
}

fn dtype(dtype: Dtype) -> Result<DType, Failed> {
    match dtype {
        Dtype::F32 => Ok(DType::F32),
        Dtype::F16 => Ok(DType::F16),
        Dtype::BF16 => Ok(DType::BF16),
        other => Err(format!("{other:?}").into()),
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files: Vec<PathBuf> = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "safetensors"));
    files.sort();
    let count = files.len();
    let mut trials = vec![Trial::test("all files are there", move || {
        if count == 142 { Ok(()) } else { Err(format!("{count} files instead of 142").into()) }
    })];
    let named = |prefix: &str, file: &Path| format!("{prefix}: {}", file.file_stem().unwrap_or_default().to_string_lossy());
    for file in &files {
        let path = file.clone();
        trials.push(Trial::test(named("reference", file), move || the_reference_is_exact(&Golden::read(&path)?)));
        let path = file.clone();
        trials.push(Trial::test(named("framework", file), move || the_framework_follows_the_preset(&Golden::read(&path)?)));
    }
    common::each_adapter(&mut trials, |trials, _, name, devices| {
        for (_, file) in files.iter().enumerate().filter(|(index, _)| devices.takes(*index)) {
            let (path, devices) = (file.clone(), devices.clone());
            let name = named(&format!("[{name}]"), file);
            trials.push(Trial::test(name, move || devices.run(|gpu| the_device_agrees(gpu, &Golden::read(&path)?))));
        }
        let devices = devices.clone();
        trials.push(Trial::test(format!("[{name}] onnx follows its definition"), move || devices.run(onnx)));
    });
    for (file, other, differ) in APART {
        trials.push(Trial::test(format!("apart: {file} is {}{other}", if differ { "not " } else { "" }), move || {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{file}.safetensors"));
            presets_differ(&Golden::read(&path)?, other, differ)
        }));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// `exact_y` is the plain formula: the reference without a rounding before the weight. Eps is stored in f32, which is all that
/// may differ; and the sum with a residual, which the reference rounds to f32.
fn the_reference_is_exact(golden: &Golden) -> Result<(), Failed> {
    let mut plain = golden.spec.cast(CastOrder::AfterWeight);
    plain.unrounded_sum = plain.residual.is_some();
    if let Some(gate) = &mut plain.gate {
        gate.rounded = false;
    }
    let allowed = if plain.residual.is_some() { 1.5 } else { 0.5 };
    for (index, (ours, exact)) in reference::norm(&plain, &golden.inputs())?.into_iter().zip(&golden.exact).enumerate() {
        if (ours - exact).abs() > DType::F32.ulp(*exact) * allowed {
            return Err(format!("element {index}: {ours:e}, exact {exact:e}").into());
        }
    }
    Ok(())
}

/// The framework's output lies within the error model of the preset of its name.
fn the_framework_follows_the_preset(golden: &Golden) -> Result<(), Failed> {
    let outcome = check_all(&golden.spec, &golden.inputs(), &golden.outputs)?;
    if outcome.passed() { Ok(()) } else { Err(format!("{outcome:?}").into()) }
}

/// So does the device's.
fn the_device_agrees(gpu: &Gpu, golden: &Golden) -> Result<(), Failed> {
    let outputs = gpu.norm(golden.spec)?.run_all_blocking(&golden.inputs())?;
    let outcome = check_all(&golden.spec, &golden.inputs(), &outputs)?;
    if outcome.passed() { Ok(()) } else { Err(format!("{outcome:?}").into()) }
}

/// Files under the definition of another preset, and whether that must show.
const APART: [(&str, Preset, bool); 9] = [
    ("rms_llama_bf16_wbf16_5x1000", Preset::Torch, true),
    ("rms_llama_f16_wf16_5x1000", Preset::Torch, true),
    ("rms_gemma_bf16_wbf16_5x1000", Preset::Torch, true),
    ("rms_gemma_f32_wf32_5x1000", Preset::Llama, true),
    ("rms_t5_bf16_wbf16_5x1000", Preset::Torch, true),
    ("rms_t5_bf16_wf32_2x3x4", Preset::Llama, true),
    ("rms_torch_bf16_5x1000", Preset::Gemma, false),
    ("rms_t5_bf16_wbf16_5x1000", Preset::Llama, false),
    ("rms_llama_f32_wf32_5x1000", Preset::Torch, false),
];

fn presets_differ(golden: &Golden, other: Preset, differ: bool) -> Result<(), Failed> {
    let dtype = golden.outputs.output().as_slice().dtype();
    let mut spec = other.spec(golden.spec.hidden, golden.spec.eps).input(golden.spec.input).output(dtype);
    spec.weight = golden.spec.weight;
    let outcome = check(&spec, &golden.inputs(), golden.outputs.output().as_slice())?;
    if outcome.passed() == differ { Err(format!("{outcome:?}").into()) } else { Ok(()) }
}

/// ONNX `RMSNormalization`, opset 23, written out: normalise, cast to the input's type, multiply by the scale, in the scale's
/// type. The reference is held to it exactly, the device to the reference, and `torch` must not pass for it.
fn onnx(gpu: &Gpu) -> Result<(), Failed> {
    let (hidden, eps) = (200usize, 1e-5f32);
    for (input, scale) in
        [(DType::F16, DType::F16), (DType::BF16, DType::F32), (DType::F32, DType::BF16), (DType::F32, DType::F32)]
    {
        let x: Vec<f64> = (0..hidden * 4).map(|i| input.round(((i * 7919) % 613) as f64 / 100.0 - 3.0)).collect();
        let w: Vec<f64> = (0..hidden).map(|i| scale.round(0.5 + ((i * 31) % 97) as f64 / 60.0)).collect();
        let (xs, ws) = (Values::round_from(input, &x), Values::round_from(scale, &w));
        let inputs = Inputs::new(&xs).weight(&ws);
        let mut spec = NormSpec::onnx(hidden as u64, eps).input(input).weight(scale);
        let truth = reference::norm(&spec, &inputs)?;
        for (row, x) in x.chunks(hidden).enumerate() {
            let root = (x.iter().map(|v| v * v).sum::<f64>() / hidden as f64 + f64::from(eps)).sqrt();
            for (i, (&x, &w)) in x.iter().zip(&w).enumerate() {
                let cast = if input.is_half() { input.round(x / root) } else { x / root };
                let ours = truth[row * hidden + i];
                // Float64 itself rounds, and so may the division.
                if (ours - cast * w).abs() > DType::F32.ulp(ours) * f64::from(f32::EPSILON) {
                    return Err(format!("{input} x {scale}, row {row}, channel {i}: {ours} instead of {}", cast * w).into());
                }
            }
        }
        let y = pollster::block_on(gpu.norm(spec)?.run_values(&inputs))?;
        let outcome = check(&spec, &inputs, y.as_slice())?;
        if y.as_slice().dtype() != scale || !outcome.passed() {
            return Err(format!("{input} x {scale}: {outcome:?}").into());
        }
        spec.cast = CastOrder::AfterWeight;
        if check(&spec, &inputs, y.as_slice())?.passed() == input.is_half() {
            return Err(format!("{input} x {scale}: the cast before the weight is not seen").into());
        }
    }
    Ok(())
}
