//! `tune` and the record that it leaves, from outside.

mod common;

use std::fs;
use std::path::Path;

use common::*;
use serde_json::Value;
use wgpu_rmsnorm::{DType, Force, Gpu, GpuOptions, NormSpec, Rung, Tuning};

/// The driver that all of these run on.
const ADAPTER: [&str; 2] = ["--adapter", "llvmpipe"];

/// A record of that driver, which has one choice: rows of 64 by another rung than the plan's own.
fn record(file: &Path) {
    let options = GpuOptions::default().adapter(ADAPTER[1]).without_self_test();
    let gpu = pollster::block_on(Gpu::with(options)).unwrap();
    let mut tuning = Tuning::new(gpu.origin());
    tuning.set(&NormSpec::torch(64, 1e-6), 40, Force::default().rung(Rung::Looped).width(2));
    fs::write(file, tuning.to_bytes()).unwrap();
}

fn on_adapter(folder: &Path, arguments: &[&str]) -> (std::process::Output, String, String) {
    run_in(folder, &[arguments, &ADAPTER].concat())
}

#[test]
fn plans_are_measured_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tuning.txt");
    let tune = |shape: &str, more: &[&str]| {
        let arguments = ["tune", shape, "--dtype", "f16", "--seconds", "0.001", "--record", "tuning.txt", "--json"];
        let (output, out, err) = on_adapter(folder.path(), &[&arguments[..], more].concat());
        assert!(output.status.success(), "{out}{err}");
        (serde_json::from_str::<Value>(&out).unwrap(), Tuning::from_bytes(&fs::read(&file).unwrap()).unwrap())
    };
    let (report, tuning) = tune("24x64", &[]);
    let tried = report["norms"][0]["tried"].as_array().unwrap();
    assert!(tried.len() > 3 && tried[0]["of_own"] == 1.0 && tried[0]["kept"] == false, "{report}");
    assert!(tried.iter().all(|tried| tried["seconds"].as_f64().unwrap() > 0.0), "{report}");
    let rungs = |name: &str| tried[1..].iter().any(|tried| tried["rung"] == name);
    assert!(rungs("looped") && rungs("solo"), "{report}");
    // What is kept is what the table says.
    let kept: Vec<&Value> = tried.iter().filter(|tried| tried["kept"] == true).collect();
    assert_eq!(kept.len(), tuning.len(), "{report}");
    let spec = NormSpec::torch(64, 1e-5).dtype(DType::F16);
    let rung = tuning.choice(&spec, 24).and_then(|choice| choice.rung).map(|rung| rung.name().to_owned());
    assert!(kept.iter().all(|kept| rung.is_none() || kept["rung"].as_str() == rung.as_deref()), "{report}");

    // Another length is added to the file, and orders of summation are tried.
    let (report, more) = tune("8x128", &["--lanes"]);
    assert_eq!((report["norms"][0]["hidden"].as_u64(), more.choice(&spec, 24)), (Some(128), tuning.choice(&spec, 24)));
    let lanes = &report["lanes"][0];
    assert_eq!((lanes["hidden"].as_u64(), more.changes_bits()), (Some(128), lanes["kept"] == true), "{report}");
}

#[test]
fn a_record_is_planned_by() {
    let folder = tempfile::tempdir().unwrap();
    record(&folder.path().join("tuning.txt"));
    let tuned = ["--tuning", "tuning.txt"];
    let explain = |shape: &str, more: &[&str]| {
        let (output, out, err) = on_adapter(folder.path(), &[&["explain", shape][..], more].concat());
        assert!(output.status.success(), "{err}");
        (out, err)
    };
    let (plain, _) = explain("40x64", &[]);
    let (out, err) = explain("40x64", &tuned);
    assert!(out.contains("because the tuning record says so") && out.contains("2 a row") && plain != out, "{out}");
    assert!(!err.contains("ignored"), "{err}");
    let (out, _) = explain("40x64", &[&tuned[..], &["--json"]].concat());
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&report["plan"]["rung"], &report["plan"]["tuned"]["choice"]), (&"looped".into(), &true.into()));
    // What is forced comes first, and what the record does not have is the plan's own.
    assert!(explain("40x64", &[&tuned[..], &["--rung", "multi"]].concat()).0.contains("it was asked for"));
    assert_eq!(explain("40x96", &tuned).0, explain("40x96", &[]).0);

    // Rows through both plans have the same bits.
    npy(&folder.path().join("x.npy"), "<f4", "(40, 64)", wave(DType::F32, 40 * 64, 1.0, 0.3).as_slice().bytes());
    for (output, more) in [("plain.npy", &[][..]), ("tuned.npy", &tuned)] {
        let apply = ["apply", "x.npy", "-o", output, "--eps", "1e-6", "--check"];
        let (done, out, err) = on_adapter(folder.path(), &[&apply[..], more].concat());
        assert!(done.status.success(), "{out}{err}");
    }
    let [plain, tuned] = ["plain.npy", "tuned.npy"].map(|file| fs::read(folder.path().join(file)).unwrap());
    assert_eq!(plain, tuned);
}

/// A record that does not serve is left out, and a note says why; nothing else changes.
#[test]
fn a_stale_or_damaged_record_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tuning.txt");
    record(&file);
    let whole = fs::read(&file).unwrap();
    let explain = |words: &str| {
        let (output, out, err) = on_adapter(folder.path(), &["explain", "40x64", "--tuning", "tuning.txt"]);
        assert!(output.status.success() && !out.contains("tuning record"), "{out}{err}");
        assert!(err.contains("note: the tuning record is ignored: tuning.txt") && err.contains(words), "{words:?} in {err}");
    };
    fs::write(&file, &whole[..whole.len() - 9]).unwrap();
    explain("checksum: expected");
    let mut other = Tuning::new(wgpu_rmsnorm::Origin::new("Some GPU", "driver", "1", "Vulkan"));
    other.set(&NormSpec::torch(64, 1e-6), 40, Force::default().width(1));
    fs::write(&file, other.to_bytes()).unwrap();
    explain("adapter: expected");
    fs::write(&file, b"\x93NUMPY").unwrap();
    explain("expected text in UTF-8");
    fs::remove_file(&file).unwrap();
    explain("cannot be read");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("other.txt"), "something else\n").unwrap();
    for (arguments, words) in [
        (&["tune", "4x8"][..], "--record <FILE>"),
        (&["tune", "--record", "new.txt"], "SHAPE"),
        (&["tune", "4by8", "--record", "new.txt"], "expected ROWSxCHANNELS"),
        (&["tune", "4x8", "--record", "new.txt", "--seconds", "0"], "--seconds: expected a number up to 60"),
        (&["tune", "4x8", "--record", "other.txt"], "replace the file with --force"),
        (&["tune", "4x8", "--record", "none/new.txt"], "cannot be written"),
        (&["tune", "4x8", "--record", "new.txt", "--json=new.txt"], "choose another file for the report"),
    ] {
        refused(folder.path(), 64, arguments, &[words]);
    }
    assert_eq!(fs::read(folder.path().join("other.txt")).unwrap(), b"something else\n");
}
