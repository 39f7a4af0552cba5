//! Plans in words, as text of shaders, and as all that another host needs.

mod another_host;
#[path = "../common/mod.rs"]
mod common;

use another_host::{Host, number};
use common::*;
use serde_json::{Value, json};
use wgpu_rmsnorm::{DType, NormSpec, Slot};

#[test]
fn a_plan_is_explained() {
    let (output, out, err) = run(program(&["explain", "2x256x4096", "--dtype", "bf16", "--preset", "gemma", "--webgpu-limits"]));
    assert!(output.status.success(), "{err}");
    for words in
        ["512 rows of 4096", "input bf16", "rung", "because", "lanes", "binding", "dispatch", "moves", "holds", "Any WebGPU"]
    {
        assert!(out.contains(words), "{words:?} in {out}");
    }
    let (_, out, _) =
        run(program(&["explain", "8x64", "--dtype", "bf16", "--residual-dtype", "f32", "--in-place", "--webgpu-limits"]));
    assert!(
        out.contains("residual f32, residual_out f32")
            && out.contains("added first, the sum rounded")
            && out.contains("residual_out, 16 bytes at a time"),
        "{out}"
    );
    let (_, out, _) = run(program(&["explain", "8x64", "--residual", "--add-after", "--in-place", "--webgpu-limits"]));
    assert!(out.contains("the residual is added last") && out.contains("residual, 16 bytes at a time"), "{out}");
    let forced = ["explain", "8x64", "--rung", "looped", "--access", "word", "--width", "4", "--webgpu-limits"];
    let (_, out, _) = run(program(&forced));
    assert!(
        out.contains("looped") && out.contains("it was asked for") && out.contains("a word at a time") && out.contains("4 a row"),
        "{out}"
    );
    let (_, out, _) =
        run(program(&["explain", "8x4099", "--dtype", "f16", "--place", "input=arena@6:5000", "--place", "output=arena@131072"]));
    assert!(out.contains("input, an element at a time; read_write"), "{out}");
}

/// Every choice of the plan can be taken out of its hands, or is refused by name.
#[test]
fn every_choice_can_be_forced() {
    let explain = |flags: &str| run(program(&format!("explain {flags} --webgpu-limits").split(' ').collect::<Vec<_>>()));
    let (_, out, _) = explain("300x256 --rung multi --reduction workgroup --workgroup 64");
    assert!(
        out.contains("workgroups of 64 invocations, 16 a row, 4 rows at once") && out.contains("in workgroup memory"),
        "{out}"
    );
    let (_, out, _) = explain("2x65536 --rung split");
    assert!(out.contains("4 pieces a row") && out.contains("dispatch 8 x 1, twice") && out.contains("bytes of scratch"), "{out}");
    let (_, out, _) = explain("300x256 --rung registers");
    assert!(out.contains("registers: ") && out.contains("it was asked for"), "{out}");
    for (flags, named) in [
        ("8x4096 --reduction subgroup", "reduction"),
        ("8x131072 --rung registers", "rung"),
        ("8x64 --rung split", "rung"),
        ("8x65536 --rung split --in-place", "rung"),
    ] {
        let (output, _, err) = explain(flags);
        assert!(!output.status.success() && err.contains(named) && err.contains("applies"), "{flags}: {err}");
    }
}

/// What is held besides the caller's buffers: a uniform and a bind group for each chunk of rows, and a table once a device.
#[test]
fn what_is_held_is_reported() {
    let held = |shape: &str| {
        let (_, out, err) = run(program(&["explain", shape, "--webgpu-limits", "--json"]));
        let report: Value = serde_json::from_str(&out).expect(&err);
        let dispatches = report["dispatches"].as_array().unwrap().len();
        (report["held"].clone(), dispatches)
    };
    let (one, dispatches) = held("300x768");
    assert_eq!(dispatches, 1);
    let gpu = json!({"device_bytes": 65536, "kernels": 1});
    assert_eq!(one, json!({"prepared": {"device_bytes": 256, "bind_groups": 1}, "norm": {"device_bytes": 0}, "gpu": gpu}));
    // 256 MiB of rows, and bindings of 128 MiB.
    let (several, dispatches) = held("65536x1024");
    assert!(dispatches > 1, "{several}");
    assert_eq!(several["prepared"], json!({"device_bytes": 256 * dispatches, "bind_groups": dispatches}));
    let (none, _) = held("0x768");
    assert_eq!((&none["prepared"]["device_bytes"], &none["gpu"]["kernels"]), (&json!(0), &json!(0)));
}

/// What the cookbook explains is what the program prints.
#[test]
fn the_cookbook_shows_a_plan_of_this_version() {
    let cookbook = include_str!("../../../docs/cookbook.md");
    let (_, shown) = cookbook.split_once("$ wgpu-rmsnorm explain 300x768 --dtype f16 --webgpu-limits\n").unwrap();
    let (_, out, _) = run(program(&["explain", "300x768", "--dtype", "f16", "--webgpu-limits"]));
    assert_eq!(shown.split_once("```").unwrap().0, out);
}

#[test]
fn shaders_are_printed_in_every_language() {
    let explain = |target: &[&str]| {
        let mut command = program(&["explain", "16x96", "--dtype", "f16", "--webgpu-limits"]);
        command.args(target);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{target:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let text = |target: &[&str]| String::from_utf8(explain(target)).unwrap();
    let wgsl = text(&["--wgsl"]);
    assert!(wgsl.contains("@compute") && naga::front::wgsl::parse_str(&wgsl).is_ok());
    assert_eq!(explain(&["--target", "spirv"])[..4], 0x0723_0203u32.to_le_bytes());
    assert!(text(&["--target", "hlsl"]).contains("[numthreads("));
    assert!(text(&["--target", "msl"]).contains("kernel void"));
    assert!(text(&["--target", "glsl"]).starts_with("#version 450"));
    let report: Value = serde_json::from_str(&text(&["--target", "hlsl", "--json"])).unwrap();
    assert!(report["translation"].as_str().is_some_and(|text| text.contains("register(t") || text.contains("register(u")));
}

#[test]
fn what_cannot_be_planned_is_explained() {
    let folder = std::env::temp_dir();
    for (arguments, words) in [
        (&["4x0"][..], "hidden: expected at least 1"),
        (&["x"], "whole numbers with x between them"),
        (&["4x-8"], "whole numbers"),
        (&["4x8", "--width", "0"], "0 is not in 1.."),
        (&["4x8", "--place", "input=a@0", "--place", "input=a@64"], "the input is placed twice"),
        (&["4x8", "--place", "weight=a@0:8"], "leave the stride out"),
        (&["18446744073709551615x18446744073709551615x2"], "fewer than 2^64 elements"),
        (&["99999999999999999999x2"], "whole numbers"),
        (&["1000000000000000x1"], "at most 65536 chunks"),
        (&["4x4294967296"], "hidden: expected less than 2^32"),
        (&["4x8", "--place", "scales=a@0"], "there is no operand"),
        (&["4x8", "--place", "scale=a@0"], "the norm has no scale"),
        (&["4x8", "--groups", "3"], "groups: expected a number of groups, or heads, that divides hidden = 8"),
        (&["4x8", "--heads", "2", "--groups", "2"], "cannot be used with"),
        (&["4x8", "--query-heads", "2"], "--key-heads <N>"),
        (&["4x8", "--gate"], "--gate-output"),
        (&["4x8", "--gate-input", "--residual"], "gate: expected a residual that is added before and a gate on the output"),
        (&["4x8", "--statistics-length", "9"], "statistics_length: expected between 1 and 8 channels"),
        (&["4x8", "--preset", "layer_norm", "--stats"], "centered: expected no mean taken off in a sharded norm"),
        (&["4x8", "--stats", "--rstd"], "rstd: expected none for stats"),
        (&["4x8", "--apply", "2"], "--total <CHANNELS>"),
        (&["4x8", "--apply", "2", "--total", "7"], "total: expected at least the 8 channels of the part"),
        (&["4x8", "--scale", "1"], "--quantized <CODES>"),
        (&["4x8", "--quantized", "i8", "--scale", "0"], "scale: expected a positive number"),
        (&["4x8", "--quantized", "f16"], "possible values: i8, f8e4m3"),
        (&["4x8", "--dtype", "i8"], "possible values: f32, f16, bf16"),
        (&["4x8", "--place", "bias=a@0"], "the norm has no bias"),
        (&["4x8", "--place", "residual=a@0"], "the norm has no residual"),
        (&["4x8", "--unrounded"], "there is no residual"),
        (
            &["4x8", "--residual", "--add-after", "--dtype", "bf16", "--residual-dtype", "f32", "--in-place"],
            "to lie over the input",
        ),
        (&["4x8", "--residual", "--place", "input=a@0", "--place", "residual_out=a@64"], "residual_out at bytes 64..192"),
        (&["4x8", "--place", "input=a@1"], "input offset: expected a multiple of 4"),
        (&["4x8", "--place", "input=a@0:7"], "row stride: expected at least the 8 elements of its row"),
        (&["4x8", "--place", "input=a@0", "--place", "output=a@4"], "operands overlap"),
        (&["4x8", "--place", "input=a@18446744073709551612"], "fewer than 2^64 bytes"),
        (&["4x8", "--in-place", "--output-dtype", "f16"], "to lie over the input"),
        (&["4x8", "--eps", "inf"], "--eps <NUMBER>"),
        (&["4x8", "--dtype", "f8"], "possible values: f32, f16, bf16"),
        (&["4x8", "--wgsl", "--target", "hlsl"], "cannot be used with"),
    ] {
        refused(&folder, 64, &[&["explain"], arguments].concat(), &[words]);
    }
}

/// The norm in the report is the one that was asked for, by the library's names.
#[test]
fn every_member_is_named() {
    let report = |arguments: &[&str]| -> Value {
        let (output, out, err) = run(program(&[&["explain", "8x64", "--webgpu-limits", "--json"], arguments].concat()));
        assert!(output.status.success(), "{arguments:?}: {err}");
        serde_json::from_str(&out).unwrap()
    };
    for (arguments, field, expected) in [
        (&[][..], "operation", json!("rms_norm")),
        (&["--preset", "layer_norm"], "operation", json!("layer_norm")),
        (&["--preset", "layer_norm"], "bias", json!("f32")),
        (&["--preset", "layer_norm", "--no-bias"], "bias", json!(null)),
        (&["--stats"], "operation", json!("stats")),
        (&["--apply", "2", "--total", "128"], "operation", json!("apply")),
        (&["--apply", "2", "--total", "128"], "shard", json!({"total": 128, "shards": 2})),
        (&["--groups", "4"], "groups", json!(4)),
        (&["--groups", "4"], "weight_of", json!("row")),
        (&["--heads", "4"], "weight_length", json!(16)),
        (&["--query-heads", "3", "--key-heads", "1"], "weight_of", json!({"query_heads": 3, "key_heads": 1})),
        (&["--statistics-length", "5"], "statistics_length", json!(5)),
        (
            &["--gate-dtype", "f16", "--gate-input"],
            "gate",
            json!({"dtype": "f16", "order": "before", "rounded": false, "activation": "silu"}),
        ),
        (
            &["--gate", "--gate-output", "--preset", "llama"],
            "gate",
            json!({"dtype": "f32", "order": "after", "rounded": true, "activation": "silu"}),
        ),
        (&["--rstd"], "rstd", json!(true)),
        (&["--quantized", "i8"], "quantized", json!({"dtype": "i8", "scale": null})),
        (&["--quantized", "float8_e4m3fn", "--scale", "0.1"], "quantized", json!({"dtype": "f8e4m3", "scale": 0.1})),
        (&["--quantized", "i8"], "output", json!("i8")),
        (&["--backward", "--preset", "layer_norm"], "operation", json!("layer_norm_backward")),
        (&["--backward", "--dtype", "f16"], "output", json!("f16")),
        (
            &["--backward", "--saved-rstd", "--residual-dtype", "f32", "--grad-residual-out", "bf16", "--bias"],
            "backward",
            json!({
                "grad_output": "f32", "grad_residual_out": "bf16", "grad_gate": null, "grad_weight": "f32", "grad_bias": "f32",
                "saved_rstd": true, "accumulate": false,
            }),
        ),
        (
            &["--backward", "--gate", "--gate-output", "--accumulate", "--dtype", "bf16", "--parameter-gradients", "f32"],
            "backward",
            json!({
                "grad_output": "bf16", "grad_residual_out": null, "grad_gate": "bf16", "grad_weight": "f32", "grad_bias": null,
                "saved_rstd": false, "accumulate": true,
            }),
        ),
    ] {
        assert_eq!(report(arguments)["norm"][field], expected, "{arguments:?}");
    }
}

/// The blocks of a backward pass, what adds them up, and what they leave.
#[test]
fn a_backward_pass_is_explained() {
    let (_, out, err) = run(program(&["explain", "1000x96", "--backward", "--bias", "--webgpu-limits"]));
    for words in [
        "rms_norm_backward of 1000 rows",
        "grad_output f32",
        "grad_weight f32",
        "blocks ",
        "chains of 16",
        "the sums of",
        "scratch",
    ] {
        assert!(out.contains(words), "{words:?} in {out}{err}");
    }
    let (_, out, _) = run(program(&["explain", "1000x96", "--backward", "--bias", "--webgpu-limits", "--json"]));
    let report: Value = serde_json::from_str(&out).unwrap();
    let (blocks, last) = (&report["plan"]["blocks"], &report["last"]);
    assert_eq!(number(&blocks["count"]), 1000u64.div_ceil(number(&blocks["rows"])));
    let holds: Vec<_> = last["bindings"].as_array().unwrap().iter().filter_map(|binding| binding["holds"].as_str()).collect();
    assert_eq!(holds.iter().filter(|holds| **holds == "scratch").count(), 1);
    assert_eq!(holds.iter().filter(|holds| **holds == "operands").count(), 2, "grad_weight and grad_bias");
    assert_eq!(last["dispatch"]["row_digits"], json!([232, 3, 0, 0]), "all rows");
    assert!(last["kernel"]["wgsl"].as_str().unwrap().contains("fn main"));
    let (_, out, _) = run(program(&["explain", "8x64", "--webgpu-limits", "--json"]));
    assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["last"], Value::Null);
    let (output, _, err) = run(program(&["explain", "8x64", "--saved-rstd"]));
    assert!(!output.status.success() && err.contains("--backward"), "{err}");
}

/// The JSON has all that another host needs: this one knows nothing else, and computes the norm with wgpu's own calls.
#[test]
fn the_json_is_enough_to_run_the_norm() {
    let gemma = |hidden| NormSpec::gemma(hidden, 1e-5);
    // Rows that share words, an arena, a bias; rows so far apart that a binding holds but two of them; heads in place; codes,
    // whose rows are padded, with their scales and a sum.
    for (spec, rows, more, places, dispatches) in [
        (gemma(8), 3, &["--place", "input=arena@0:20000000"][..], &[(Slot::Input, 0, 20_000_000)][..], 2),
        (
            gemma(129).dtype(DType::F16).bias(DType::F16),
            33,
            &["--place", "input=arena@4098", "--place", "output=arena@65536:136", "--bias"],
            &[(Slot::Input, 4098, 129), (Slot::Output, 65_536, 136)],
            1,
        ),
        (gemma(96).dtype(DType::BF16), 300, &[], &[], 1),
        (gemma(2000).bias(DType::F32), 5, &["--bias"], &[], 1),
        (
            gemma(320).dtype(DType::BF16).query_and_key_heads(7, 3),
            300,
            &["--query-heads", "7", "--key-heads", "3", "--in-place"],
            &[],
            1,
        ),
        (
            gemma(330).dtype(DType::F16).add_residual(DType::F32).rstd().quantized(DType::I8),
            70,
            &["--residual-dtype", "f32", "--rstd", "--quantized", "i8"],
            &[],
            1,
        ),
    ] {
        let (shape, dtype) = (format!("{rows}x{}", spec.hidden), spec.input);
        let arguments = [&["explain", &shape, "--dtype", dtype.name(), "--preset", "gemma", "--json"], more].concat();
        let (output, out, err) = run(program(&arguments));
        assert!(output.status.success(), "{err}");
        let report: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(report["dispatches"].as_array().map(Vec::len), Some(dispatches), "{arguments:?}");
        Host::open(&report).compute(&spec, rows, places);
    }
}
