//! Checkpoints.

mod common;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use common::*;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

/// A checkpoint with vectors of 8 ones under these names.
fn checkpoint(file: &Path, dtype: Dtype, names: &[&str]) {
    let bytes = vec![if dtype == Dtype::BF16 { 0x3f } else { 0 }; 8 * dtype.bitsize() / 8];
    let tensors = names.iter().map(|name| (*name, TensorView::new(dtype, vec![8], &bytes).unwrap()));
    fs::write(file, safetensors::serialize(tensors, None::<HashMap<String, String>>).unwrap()).unwrap();
}

#[test]
fn the_tiny_llama_is_right() {
    for path in [MODEL.to_owned(), format!("{MODEL}/model.safetensors")] {
        let (output, out, err) = run(program(&["check-model", &path]));
        assert!(output.status.success(), "{out}{err}");
        assert!(out.contains("llama: 9 norms, llama, eps 1e-5, f16 activations") && out.contains("All 9 norms"), "{out}");
        let names: Vec<_> =
            out.lines().filter_map(|line| line.trim().strip_prefix("model.")?.split_whitespace().next()).collect();
        assert_eq!(names.len(), 9);
        assert_eq!((names[0], names[8]), ("layers.0.input_layernorm.weight", "norm.weight"));
    }
}

/// What is said on the command line counts more than the configuration, and JSON has it all.
#[test]
fn options_and_json() {
    let arguments = ["check-model", MODEL, "--json", "--preset", "torch", "--eps", "1e-3", "--dtype", "f32"];
    let (output, out, err) = run(program(&arguments));
    assert!(output.status.success(), "{err}");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&report["preset"], &report["eps"], &report["dtype"]), (&"torch".into(), &1e-3.into(), &"f32".into()));
    let norms = report["norms"].as_array().unwrap();
    assert_eq!(norms.len(), 9);
    for norm in norms {
        assert_eq!((&norm["hidden"], &norm["passed"]), (&256.into(), &true.into()));
        assert!(norm["random"]["elements"].as_u64() > Some(100_000) && norm["adversarial"]["elements"].as_u64() > Some(10_000));
        assert!(norm["random"]["worst_ulp"].as_f64().is_some_and(|ulp| ulp > 0.0 && ulp < 4.0), "{norm}");
        assert!(norm["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0));
    }
}

#[test]
fn a_sharded_checkpoint_is_read_shard_by_shard() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(
        at("config.json"),
        r#"{"model_type": "gemma3_text", "rms_norm_eps": 1e-6, "torch_dtype": "bfloat16", "num_hidden_layers": 12}"#,
    )
    .unwrap();
    checkpoint(&at("a.safetensors"), Dtype::BF16, &["model.layers.10.input_layernorm.weight", "model.embed.weight"]);
    checkpoint(
        &at("b.safetensors"),
        Dtype::BF16,
        &["model.layers.9.self_attn.q_norm.weight", "model.norm.weight", "vision.norm1.weight"],
    );
    let map = |more: &str| {
        let names = r#""model.layers.10.input_layernorm.weight": "a.safetensors", "model.embed.weight": "a.safetensors",
            "model.layers.9.self_attn.q_norm.weight": "b.safetensors", "model.norm.weight": "b.safetensors""#;
        fs::write(at("model.safetensors.index.json"), format!(r#"{{"weight_map": {{{names}{more}}}}}"#)).unwrap();
    };
    map(r#", "vision.norm1.weight": "b.safetensors""#);
    let folder_name = folder.path().to_str().unwrap();
    for path in [folder_name, at("model.safetensors.index.json").to_str().unwrap()] {
        let (output, out, err) = run(program(&["check-model", path]));
        assert!(output.status.success(), "{out}{err}");
        assert!(out.contains("gemma3_text: 3 norms, gemma, eps 1e-6, bf16 activations"), "{out}");
        let order: Vec<_> = out.lines().filter(|line| line.starts_with(" model.")).collect();
        assert!(order[0].contains("layers.9") && order[1].contains("layers.10") && order[2].contains("model.norm"), "{out}");
        assert!(err.contains("left out") && err.contains("vision.norm1.weight"), "{err}");
        assert!(err.contains("there are 12 layers; norms of 2 are here"), "{err}");
    }
    // The index is what counts: what it does not name is not there, and what it names must be where it says.
    map("");
    let (_, _, err) = run(program(&["check-model", folder_name]));
    assert!(!err.contains("vision"), "{err}");
    map(r#", "model.layers.3.input_layernorm.weight": "a.safetensors""#);
    refused(folder.path(), 64, &["check-model", folder_name], &["a.safetensors: has no tensor \"model.layers.3.input"]);
    map("");
    fs::remove_file(at("b.safetensors")).unwrap();
    refused(folder.path(), 64, &["check-model", folder_name], &["b.safetensors", "download the whole checkpoint"]);
    for (index, words) in [
        (r#"{"weight_map": {"x": "../a.safetensors"}}"#, "not inside its folder"),
        (r#"{"weight_map": {"x": "/etc/passwd"}}"#, "not inside its folder"),
        (r#"{"weight_map": {"x": 7}}"#, "names 7 as a file"),
        (r#"{"weight_map": {}}"#, "names no file"),
        (r#"{"weights": {}}"#, "no weight_map"),
        ("nonsense", "is not JSON"),
    ] {
        fs::write(at("model.safetensors.index.json"), index).unwrap();
        refused(folder.path(), 64, &["check-model", folder_name], &[words]);
    }
}

#[test]
fn what_is_no_checkpoint_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let check = ["check-model", "."];
    refused(folder.path(), 64, &check, &["has neither model.safetensors nor model.safetensors.index.json"]);
    refused(folder.path(), 64, &["check-model", "nowhere.safetensors"], &["nowhere.safetensors: cannot be read"]);
    checkpoint(&at("model.safetensors"), Dtype::F32, &["model.layers.0.ln_1.weight", "h.0.norm.weight"]);
    refused(folder.path(), 64, &check, &["config.json: cannot be read"]);
    fs::write(at("config.json"), r#"{"model_type": "gpt2"}"#).unwrap();
    refused(folder.path(), 64, &check, &["\"gpt2\"", "--preset", "llama, mistral"]);
    refused(folder.path(), 64, &["check-model", ".", "--preset", "llama"], &["no rms_norm_eps", "--eps"]);
    let told = ["check-model", ".", "--preset", "llama", "--eps", "1e-5"];
    fs::write(at("x.npy"), "").unwrap();
    refused(folder.path(), 64, &["check-model", "x.npy"], &["x.npy: is not a checkpoint"]);
    refused(folder.path(), 64, &told, &["no RMSNorm of the names that are known", "h.0.norm.weight"]);
    checkpoint(&at("model.safetensors"), Dtype::I32, &["model.norm.weight"]);
    refused(folder.path(), 64, &told, &["model.norm.weight holds I32"]);
    // Who says all that config.json would say needs none.
    checkpoint(&at("model.safetensors"), Dtype::F32, &["model.norm.weight"]);
    fs::remove_file(at("config.json")).unwrap();
    let (output, out, err) = run_in(folder.path(), &told);
    assert!(output.status.success() && out.contains("1 norms, llama, eps 1e-5, f32 activations"), "{out}{err}");
    let whole = fs::read(format!("{MODEL}/model.safetensors")).unwrap();
    assert!(SafeTensors::deserialize(&whole).is_ok());
    fs::write(at("model.safetensors"), &whole[..whole.len() / 2]).unwrap();
    refused(folder.path(), 64, &told, &["bytes of tensors should follow the header"]);
}
