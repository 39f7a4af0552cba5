//! `bench` from outside: what it prints and reports, and what it refuses.

mod common;

use common::{program, refused, run, run_in};
use serde_json::Value;

/// One object a line, and nothing else.
fn lines_of(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_norm_is_timed_beside_copies() {
    let arguments = ["bench", "40x64", "3x33", "--dtype", "f32,mixed", "--op", "norm,quantized", "--seconds", "0.02", "--json"];
    let (output, out, err) = run(program(&arguments));
    assert!(output.status.success(), "{err}");
    let lines = lines_of(&out);
    assert_eq!(lines.len(), 8);
    for line in &lines {
        let fields =
            ["median_s", "batch_s", "batch_k", "norm_s", "copy_s", "copy_gb_per_s", "plain_copy_gb_per_s", "share_of_copy"];
        for field in fields {
            assert!(line[field].as_f64().unwrap() > 0.0, "{field}: {line}");
        }
        // As other libraries are counted: one norm and a wait. And what the clock says of several.
        for (speed, seconds) in [("gb_per_s", "median_s"), ("batch_gb_per_s", "batch_s"), ("norm_gb_per_s", "norm_s")] {
            let (speed, seconds) = (line[speed].as_f64().unwrap(), line[seconds].as_f64().unwrap());
            assert!((speed * seconds * 1e9 / line["bytes"].as_f64().unwrap() - 1.0).abs() < 1e-6, "{line}");
        }
        // Results of about 1 to 5 are right to an ULP or so; codes are no results.
        match (line["op"].as_str().unwrap(), line["max_abs_err"].as_f64()) {
            ("norm", Some(error)) => assert!(error > 0.0 && error < if line["dtype"] == "f32" { 1e-5 } else { 0.05 }, "{line}"),
            (operation, error) => assert!(operation == "quantized" && error.is_none(), "{line}"),
        }
    }
    // Rows read and written, and the weight.
    assert_eq!((lines[0]["op"].as_str(), lines[0]["bytes"].as_u64()), (Some("norm"), Some((2 * 40 * 64 + 64) * 4)));
    assert_eq!((lines[1]["dtype"].as_str(), lines[1]["bytes"].as_u64()), (Some("mixed"), Some(2 * 40 * 64 * 2 + 64 * 4)));
}

#[test]
fn the_rung_is_chosen_or_forced() {
    for (rung, words) in [("solo", "solo 1 x"), ("looped", "looped "), ("multi", "multi ")] {
        let (output, out, err) = run(program(&["bench", "64x40", "--dtype", "f16", "--seconds", "0.02", "--rung", rung]));
        assert!(output.status.success(), "{err}");
        assert!(out.contains(words) && out.contains("share"), "{out}");
    }
}

#[test]
fn what_moved_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let bench = |arguments: &[&str]| {
        let arguments = [&["bench", "8x64", "--dtype", "f32", "--seconds", "0.02"], arguments].concat();
        run_in(folder.path(), &arguments)
    };
    let (output, _, err) = bench(&["--json=old.json"]);
    assert!(output.status.success(), "{err}");
    assert_eq!(lines_of(&std::fs::read_to_string(folder.path().join("old.json")).unwrap()).len(), 1);
    let (output, out, err) = bench(&["--compare", "old.json"]);
    assert!(output.status.success() && out.contains("share before"), "{out}{err}");
    std::fs::write(folder.path().join("other.json"), "{}").unwrap();
    refused(
        folder.path(),
        64,
        &["bench", "8x64", "--compare", "other.json"],
        &["other.json: is no such report", "bench --json=FILE"],
    );
    refused(folder.path(), 64, &["bench", "8x64", "--compare", "none.json"], &["none.json: cannot be read"]);
}

#[test]
fn shares_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let bench = ["bench", "8x64", "4x100", "8x100", "--dtype", "f32,f16", "--seconds", "0.02", "--plot", "shares.svg"];
    let (output, out, err) = run_in(folder.path(), &bench);
    assert!(output.status.success() && out.contains("share"), "{out}{err}");
    let svg = std::fs::read_to_string(folder.path().join("shares.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("norm f32") && svg.contains("norm f16"), "{svg}");
    assert_eq!(svg.matches("<circle").count(), 6, "{svg}");
    refused(folder.path(), 64, &bench, &["shares.svg: exists already", "--force"]);
    for (file, words) in [("shares.png", "expected the name of an .svg file"), ("none/shares.svg", "cannot be written")] {
        refused(folder.path(), 64, &["bench", "8x64", "--plot", file], &[file, words]);
    }
    let json = ["bench", "8x64", "--plot", "both.svg", "--json=both.svg"];
    refused(folder.path(), 64, &json, &["this file is read or written otherwise"]);
    std::fs::write(folder.path().join("old.svg"), "").unwrap();
    let compare = ["bench", "8x64", "--plot", "old.svg", "--compare", "old.svg", "--force"];
    refused(folder.path(), 64, &compare, &["old.svg is read by --compare"]);
}

#[test]
fn a_decode_step_is_taken_apart() {
    let arguments = ["bench", "--decode-step", "--dtype", "f16", "--op", "norm,add-residual", "--seconds", "0.02"];
    let (output, out, err) = run(program(&arguments));
    assert!(output.status.success(), "{err}");
    for words in ["65 norms of one row of 4096", "nothing", "record", "times the copy of its row (limit 1.5"] {
        assert!(out.contains(words), "{words:?} in {out}");
    }
    let (output, out, err) = run(program(&[&arguments[..], &["--json"]].concat()));
    assert!(output.status.success(), "{err}");
    let lines = lines_of(&out);
    assert_eq!(lines.len(), 2);
    for line in &lines {
        for way in ["norm", "empty", "copy_of_row"] {
            let seconds = ["record_s", "submit_s", "wait_s", "whole_s"].map(|part| line[way][part].as_f64().unwrap());
            assert!(seconds.iter().all(|&seconds| seconds > 0.0), "{line}");
            assert!((seconds[..3].iter().sum::<f64>() / seconds[3] - 1.0).abs() < 1e-6, "{line}");
        }
        assert_eq!((line["batch_k"].as_u64(), line["batch_s"].as_f64()), (Some(65), line["norm"]["whole_s"].as_f64()));
    }
    // Rows read and written, and the weight; then also the residual, and the sum in its place.
    assert_eq!(lines[0]["bytes"].as_u64(), Some(3 * 4096 * 2));
    assert_eq!(lines[1]["bytes"].as_u64(), Some(5 * 4096 * 2));
}

#[test]
fn wrong_results_are_not_timed() {
    let fault = ["bench", "4x64", "--dtype", "f32", "--fault", "return r + opaque_one(r=>return r * 1.03 + opaque_one(r"];
    let (output, out, err) = run(program(&fault));
    assert_eq!(output.status.code(), Some(1), "{out}{err}");
    assert!(err.contains("elements are wrong"), "{err}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, words) in [
        (&["bench", "4by8"][..], "expected ROWSxCHANNELS"),
        (&["bench", "4x0"], "expected ROWSxCHANNELS"),
        (&["bench", "4x8", "--seconds", "0"], "--seconds: expected a number up to 600"),
        (&["bench", "4x8", "--dtype", "f64"], "possible values: f32, f16, bf16, mixed"),
        (&["bench", "4x8", "--decode-step"], "cannot be used with"),
        (&["bench", "--decode-step", "--plot", "a.svg"], "cannot be used with"),
        (&["bench", "4x8", "--rung", "none"], "possible values"),
    ] {
        refused(folder.path(), 64, arguments, &[words]);
    }
}
