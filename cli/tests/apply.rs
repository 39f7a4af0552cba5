//! Files in, files out.

mod common;

use std::collections::HashMap;
use std::fs;

use common::*;
use half::bf16;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use wgpu_rmsnorm::{DType, Gpu, Inputs, NormSpec, Outputs, Values, verify};

const HIDDEN: u64 = 40;

/// A folder with rows [3, 5, 40] and weights in every dtype, as NumPy and ml_dtypes save them.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (dtype, descr) in [(DType::F32, "<f4"), (DType::F16, "<f2"), (DType::BF16, "<V2")] {
        npy(&folder.path().join(format!("x-{dtype}.npy")), descr, "(3, 5, 40)", input(dtype).as_slice().bytes());
        npy(&folder.path().join(format!("w-{dtype}.npy")), descr, "(40,)", weight(dtype).as_slice().bytes());
    }
    folder
}

fn input(dtype: DType) -> Values {
    wave(dtype, 15 * HIDDEN, 3.0, 0.2)
}

fn weight(dtype: DType) -> Values {
    wave(dtype, HIDDEN, 0.2, 1.0)
}

fn is_right(spec: &NormSpec, inputs: &Inputs<'_>, bytes: &[u8]) {
    let output = Values::from_bytes(spec.output_dtype(), bytes);
    let outcome = verify::check(spec, inputs, output.as_slice()).unwrap();
    assert!(outcome.passed() && outcome.elements as u64 == 15 * HIDDEN, "{outcome:?}");
}

#[test]
fn every_dtype_goes_in_and_comes_out_as_npy() {
    let folder = folder();
    for (dtype, descr) in [(DType::F32, "'<f4'"), (DType::F16, "'<f2'"), (DType::BF16, "'<V2'")] {
        let (x, w, y) = (format!("x-{dtype}.npy"), format!("w-{dtype}.npy"), format!("y-{dtype}.npy"));
        let mut arguments = vec!["apply", &x, "-o", &y, "--weight", &w, "--eps", "1e-5", "--preset", "llama", "--check"];
        if dtype == DType::BF16 {
            arguments.extend(["--dtype", "bf16", "--weight-dtype", "bf16"]);
        }
        let (output, out, err) = run_in(folder.path(), &arguments);
        assert!(output.status.success(), "{out}{err}");
        assert!(out.contains("15 rows of 40") && out.contains("600 elements: all right") && out.contains("Wrote"), "{out}");
        let (header, bytes) = read_npy(&folder.path().join(&y));
        assert!(header.contains(descr) && header.contains("(3, 5, 40,)"), "{header}");
        let spec = NormSpec::llama(HIDDEN, 1e-5).dtype(dtype);
        is_right(&spec, &Inputs::new(&input(dtype)).weight(&weight(dtype)), &bytes);
    }
}

#[test]
fn safetensors_keep_their_names_and_dtypes_may_differ() {
    let folder = folder();
    let (x, w, b) = (input(DType::BF16), weight(DType::F32), wave(DType::F32, HIDDEN, 1.0, 0.0));
    let view = |dtype, shape: &[usize], values: &Values| {
        TensorView::new(dtype, shape.to_vec(), Box::leak(values.as_slice().bytes().to_vec().into_boxed_slice())).unwrap()
    };
    let tensors = [
        ("block.x", view(Dtype::BF16, &[3, 5, 40], &x)),
        ("block.w", view(Dtype::F32, &[40], &w)),
        ("block.b", view(Dtype::F32, &[1, 40], &b)),
    ];
    let file = safetensors::serialize(tensors, None::<HashMap<String, String>>).unwrap();
    fs::write(folder.path().join("m.safetensors"), file).unwrap();
    let arguments = ["apply", "m.safetensors:block.x", "-o", "y.safetensors", "--weight", "m.safetensors:block.w"];
    let more = ["--bias", "m.safetensors:block.b", "--eps", "1e-6", "--json"];
    let (output, out, err) = run_in(folder.path(), &[&arguments[..], &more].concat());
    assert!(output.status.success(), "{out}{err}");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&report["eps"], &report["dtypes"]["output"], &report["written"]), (&1e-6.into(), &"bf16".into(), &true.into()));
    let file = fs::read(folder.path().join("y.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&file).unwrap();
    let y = tensors.tensor("block.x").unwrap();
    assert_eq!((y.dtype(), y.shape()), (Dtype::BF16, &[3, 5, 40][..]));
    let spec = NormSpec::torch(HIDDEN, 1e-6).input(DType::BF16).bias(DType::F32);
    is_right(&spec, &Inputs::new(&x).weight(&w).bias(&b), y.data());
    // From one format to the other, under another name.
    let (output, _, err) =
        run_in(folder.path(), &["apply", "y.safetensors", "-o", "z.safetensors:z", "--eps", "1", "--output-dtype", "f32"]);
    assert!(output.status.success(), "{err}");
    let file = fs::read(folder.path().join("z.safetensors")).unwrap();
    assert_eq!(SafeTensors::deserialize(&file).unwrap().tensor("z").unwrap().dtype(), Dtype::F32);
}

/// A residual is added first, and the sum is written back beside the result.
#[test]
fn a_residual_is_added() {
    let folder = folder();
    let residual = wave(DType::F32, 15 * HIDDEN, 7.0, -0.3);
    npy(&folder.path().join("r.npy"), "<f4", "(3, 5, 40)", residual.as_slice().bytes());
    let arguments = ["apply", "x-f16.npy", "-o", "y.npy", "--eps", "1e-5", "--weight", "w-f16.npy", "--check"];
    let more = ["--residual", "r.npy", "--residual-out", "sum.npy"];
    for unrounded in [false, true] {
        let last: &[&str] = if unrounded { &["--unrounded", "--force"] } else { &[] };
        let (output, out, err) = run_in(folder.path(), &[&arguments[..], &more, last].concat());
        assert!(output.status.success() && out.contains("1200 elements: all right"), "{out}{err}");
        let (x, w) = (input(DType::F16), weight(DType::F16));
        let spec = NormSpec::torch(HIDDEN, 1e-5).dtype(DType::F16).add_residual(DType::F32);
        let spec = if unrounded { spec.unrounded() } else { spec };
        let inputs = Inputs::new(&x).weight(&w).residual(&residual);
        let of = |name: &str| read_npy(&folder.path().join(name)).1;
        let outputs = Outputs::new(Values::from_bytes(DType::F16, &of("y.npy")));
        let outputs = outputs.with(wgpu_rmsnorm::Slot::ResidualOut, Some(Values::from_bytes(DType::F32, &of("sum.npy"))));
        assert!(verify::check_all(&spec, &inputs, &outputs).unwrap().passed());
    }
    let with = |more: &[&'static str]| [&["apply", "x-f16.npy", "-o", "z.npy", "--eps", "1"], more].concat();
    let after = ["--residual", "r.npy", "--add-after", "--preset", "gemma", "--check"];
    let (output, out, err) = run_in(folder.path(), &with(&after));
    assert!(output.status.success() && out.contains("600 elements: all right") && out.contains("to the result"), "{out}{err}");
    let spec = NormSpec::gemma(HIDDEN, 1.0).input(DType::F16).without_weight().then_add_residual(DType::F32);
    is_right(&spec, &Inputs::new(&input(DType::F16)).residual(&residual), &read_npy(&folder.path().join("z.npy")).1);
    fs::remove_file(folder.path().join("z.npy")).unwrap();
    refused(folder.path(), 64, &with(&["--residual", "r.npy"]), &["--residual-out", "--add-after"]);
    refused(folder.path(), 64, &with(&["--residual", "w-f16.npy", "--residual-out", "s.npy"]), &["the residual has shape [40]"]);
    refused(folder.path(), 64, &with(&["--residual", "r.npy", "--residual-out", "z.npy"]), &["this file is the output's"]);
    refused(folder.path(), 64, &with(&["--unrounded"]), &["there is no residual"]);
}

/// A file of another dtype is rounded once; big-endian numbers and untyped 16 bits are what they are.
#[test]
fn other_numbers_are_taken_when_it_is_said_what_they_are() {
    let folder = folder();
    let exact = input(DType::F32).as_slice().widen();
    let doubles: Vec<u8> = exact.iter().flat_map(|x| (x * 1.000_000_01).to_le_bytes()).collect();
    npy(&folder.path().join("f64.npy"), "<f8", "(15, 40)", &doubles);
    let swapped: Vec<u8> = exact.iter().flat_map(|&x| (x as f32).to_be_bytes()).collect();
    npy(&folder.path().join("big.npy"), ">f4", "(15, 40)", &swapped);
    let bits: Vec<u8> = exact.iter().flat_map(|&x| bf16::from_f64(x).to_bits().to_le_bytes()).collect();
    npy(&folder.path().join("bits.npy"), "<u2", "(15, 40)", &bits);
    for (file, dtype) in [
        ("f64.npy", DType::F32),
        ("f64.npy", DType::BF16),
        ("big.npy", DType::F32),
        ("big.npy", DType::F16),
        ("bits.npy", DType::BF16),
    ] {
        let (output, out, err) =
            run_in(folder.path(), &["apply", file, "-o", "y.npy", "--eps", "1e-5", "--dtype", dtype.name(), "--force"]);
        assert!(output.status.success(), "{out}{err}");
        let values: Vec<f64> = exact.iter().map(|&x| if file == "f64.npy" { x * 1.000_000_01 } else { x }).collect();
        let spec = NormSpec::torch(HIDDEN, 1e-5).without_weight().dtype(dtype);
        is_right(&spec, &Inputs::new(&Values::round_from(dtype, &values)), &read_npy(&folder.path().join("y.npy")).1);
    }
}

/// Eps and preset of a model's configuration; what is said on the command line counts more.
#[test]
fn a_configuration_gives_eps_and_preset() {
    let folder = folder();
    for (config, preset, eps) in [
        (r#"{"model_type": "gemma2", "rms_norm_eps": 1e-6}"#, "gemma", "1e-6"),
        (r#"{"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "rms_norm_eps": 2e-6}}"#, "gemma", "2e-6"),
        (r#"{"model_type": "t5", "layer_norm_epsilon": 1e-4}"#, "t5", "1e-4"),
        (r#"{"model_type": "qwen3", "rms_norm_eps": 1e-6}"#, "llama", "1e-6"),
        (r#"{"model_type": "something", "rms_norm_eps": 1e-5}"#, "torch", "1e-5"),
    ] {
        fs::write(folder.path().join("config.json"), config).unwrap();
        let arguments = ["apply", "x-f32.npy", "-o", "y.npy", "--config", "config.json", "--force"];
        let (output, out, err) = run_in(folder.path(), &arguments);
        assert!(output.status.success() && out.contains(&format!("{preset}, eps {eps},")), "{out}{err}");
        let (_, out, _) = run_in(folder.path(), &[&arguments[..], &["--eps", "0.5", "--preset", "onnx"]].concat());
        assert!(out.contains("onnx, eps 5e-1,"), "{out}");
    }
    for (config, words) in [
        (r#"{"model_type": "phi"}"#, "no rms_norm_eps"),
        (r#"{"rms_norm_eps": "1e-5"}"#, "is \"1e-5\", and not a number"),
        ("[", "is not JSON"),
        ("{}", "no rms_norm_eps"),
    ] {
        fs::write(folder.path().join("config.json"), config).unwrap();
        refused(folder.path(), 64, &["apply", "x-f32.npy", "-o", "z.npy", "--config", "config.json"], &[words]);
    }
    assert!(!folder.path().join("z.npy").exists());
}

/// Broken files are told apart, and nothing is left behind.
#[test]
fn broken_files_are_explained() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    let whole = fs::read(at("x-f32.npy")).unwrap();
    fs::write(at("cut.npy"), &whole[..whole.len() - 1]).unwrap();
    fs::write(at("empty.npy"), b"").unwrap();
    fs::write(at("text.npy"), b"1.0, 2.0, 3.0\n").unwrap();
    fs::write(at("header.npy"), b"\x93NUMPY\x02\0\xff\xff\xff\x7f{").unwrap();
    fs::write(at("nested.npy"), [&b"\x93NUMPY\x01\0\x10\x27"[..], &[b'('; 10_000]].concat()).unwrap();
    npy(&at("huge.npy"), "<f4", "(4294967296, 4294967296, 4)", b"");
    npy(&at("long.npy"), "<f4", "(1099511627776, 4)", b"");
    npy(&at("ints.npy"), "<i4", "(2, 2)", &[0; 16]);
    npy(&at("scalar.npy"), "<f4", "()", &[0; 4]);
    npy(&at("no-channels.npy"), "<f4", "(4, 0)", b"");
    fs::write(at("cut.safetensors"), b"\x40\0\0\0\0\0\0\0{\"x\":").unwrap();
    fs::write(at("header.safetensors"), [&(1u64 << 40).to_le_bytes()[..], b"{}"].concat()).unwrap();
    fs::write(at("json.safetensors"), [&8u64.to_le_bytes()[..], b"{\"x\": 1}"].concat()).unwrap();
    fs::write(at("none.safetensors"), [&2u64.to_le_bytes()[..], b"{}"].concat()).unwrap();
    for (file, words) in [
        ("cut.npy", "takes 2400 bytes, and 2399 are there"),
        ("empty.npy", "does not begin as one"),
        ("text.npy", "does not begin as one"),
        ("header.npy", "2147483659 bytes long"),
        ("nested.npy", "10010 bytes long"),
        ("huge.npy", "takes more than 2^64 bytes"),
        ("long.npy", "takes 17592186044416 bytes"),
        ("ints.npy", "of type <i4"),
        ("scalar.npy", "rank 0"),
        ("no-channels.npy", "hidden: expected at least 1"),
        ("x-bf16.npy", "--dtype bf16"),
        ("missing.npy", "cannot be read"),
        ("cut.safetensors", "64 bytes long, in a file of 13"),
        ("header.safetensors", "1099511627776 bytes long"),
        ("json.safetensors", "is not a .safetensors file"),
        ("none.safetensors", "has 0 tensors"),
        ("x.npz", "expected FILE.npy"),
    ] {
        refused(folder.path(), 64, &["apply", file, "-o", "y.npy", "--eps", "1e-5"], &[words]);
    }
    refused(folder.path(), 64, &["apply", "x-f32.npy", "-o", "y.npy"], &["there is no eps", "--config"]);
    for eps in ["-1", "nan", "inf", "1e39", "1e-46", "x"] {
        refused(folder.path(), 64, &["apply", "x-f32.npy", "-o", "y.npy", "--eps", eps], &["'--eps <NUMBER>'"]);
    }
    refused(
        folder.path(),
        64,
        &["apply", "x-f32.npy", "-o", "y.npy", "--eps", "1", "--weight-dtype", "f16"],
        &["neither weight"],
    );
    let reserved = ["apply", "x-f32.npy", "-o", "y.safetensors:__metadata__", "--eps", "1"];
    refused(folder.path(), 64, &reserved, &["no tensor can be named"]);
    refused(
        folder.path(),
        64,
        &["apply", "x-f32.npy", "-o", "y.npy", "--eps", "-1"],
        &["expected 0, or a number between 1e-45 and 3e38"],
    );
    let weight = ["apply", "x-f32.npy", "-o", "y.npy", "--eps", "1", "--weight", "x-f32.npy"];
    refused(folder.path(), 64, &weight, &["weight has shape [3, 5, 40]", "last dimension is 40"]);
    let nowhere = ["apply", "x-f32.npy", "-o", "no-folder/y.npy", "--eps", "1"];
    refused(folder.path(), 64, &nowhere, &["no-folder", "choose a folder that exists"]);
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name == "y.npy" || name.to_string_lossy().contains("partial")), "{left:?}");
}

#[test]
fn an_output_is_replaced_only_by_force_and_may_be_the_input() {
    let folder = folder();
    fs::write(folder.path().join("y.npy"), b"precious").unwrap();
    refused(folder.path(), 64, &["apply", "x-f32.npy", "-o", "y.npy", "--eps", "1"], &["y.npy: exists already", "--force"]);
    assert_eq!(fs::read(folder.path().join("y.npy")).unwrap(), b"precious");
    let (output, _, err) = run_in(folder.path(), &["apply", "x-f32.npy", "-o", "x-f32.npy", "--eps", "1e-5", "--force"]);
    assert!(output.status.success(), "{err}");
    let spec = NormSpec::torch(HIDDEN, 1e-5).without_weight();
    is_right(&spec, &Inputs::new(&input(DType::F32)), &read_npy(&folder.path().join("x-f32.npy")).1);
    // A tensor of a checkpoint cannot be replaced: the others would be lost.
    let checkpoint = folder.path().join("model.safetensors");
    fs::copy(format!("{MODEL}/model.safetensors"), &checkpoint).unwrap();
    let norm = "model.safetensors:model.norm.weight";
    refused(folder.path(), 64, &["apply", norm, "-o", norm, "--eps", "1", "--force"], &["other tensors"]);
    assert_eq!(fs::metadata(&checkpoint).unwrap().len(), fs::metadata(format!("{MODEL}/model.safetensors")).unwrap().len());
    // Nor is an input lost to a report.
    let report = ["apply", "x-f16.npy", "-o", "z.npy", "--eps", "1", "--json=x-f16.npy", "--force"];
    refused(folder.path(), 64, &report, &["read or written otherwise"]);
    assert!(read_npy(&folder.path().join("x-f16.npy")).0.contains("<f2"));
    fs::create_dir(folder.path().join("folder.npy")).unwrap();
    let into = ["apply", "x-f32.npy", "-o", "folder.npy", "--eps", "1", "--force"];
    refused(folder.path(), 64, &into, &["folder.npy: is not a file"]);
}

/// More rows than go through at a time: the batches have the bits of one piece.
#[test]
fn large_files_go_through_in_batches() {
    let folder = tempfile::tempdir().unwrap();
    // 40 MiB of input, in batches of 32.
    let (rows, hidden) = (10_485, 1000);
    let x = wave(DType::F32, rows * hidden, 3.0, 0.1);
    npy(&folder.path().join("x.npy"), "<f4", "(10485, 1000)", x.as_slice().bytes());
    let (output, out, err) = run_in(folder.path(), &["apply", "x.npy", "-o", "y.npy", "--eps", "1e-6", "--check"]);
    assert!(output.status.success() && out.contains("10485000 elements: all right"), "{out}{err}");
    let whole = Gpu::new_blocking().unwrap().norm(NormSpec::torch(hidden, 1e-6).without_weight()).unwrap();
    let whole: Vec<f32> = whole.run_blocking(&Inputs::new(&x)).unwrap();
    assert!(read_npy(&folder.path().join("y.npy")).1 == bytemuck::cast_slice::<f32, u8>(&whole));
    // No rows at all are no error.
    npy(&folder.path().join("none.npy"), "<f2", "(0, 7)", b"");
    let (output, out, err) = run_in(folder.path(), &["apply", "none.npy", "-o", "none-out.npy", "--eps", "1e-6", "--check"]);
    assert!(output.status.success() && out.contains("0 rows of 7"), "{out}{err}");
}
