//! The demo, the list of devices, the verification, and what all subcommands have in common.

mod common;

use common::*;

#[test]
fn the_demo_is_the_default_and_passes() {
    for arguments in [&[][..], &["demo"]] {
        let (output, out, err) = run(program(arguments));
        assert!(output.status.success(), "{out}{err}");
        assert!(out.contains("model.layers.3.post_attention_layernorm") && out.contains("All 27 results"), "{out}");
        assert_eq!(out.lines().filter(|line| line.contains("39 x 256")).count(), 27);
        assert!(out.contains("6 query and 2 key heads") && out.contains("All 11 members are within the error model"), "{out}");
    }
}

#[test]
fn devices_lists_adapters_for_people_and_machines() {
    let (output, out, err) = run(program(&["devices"]));
    assert!(output.status.success() && out.contains("self-test") && out.contains("looped"), "{out}{err}");
    let (_, out, _) = run(program(&["devices", "--json"]));
    let devices: serde_json::Value = serde_json::from_str(&out).unwrap();
    let first = &devices[0];
    assert!(first["name"].is_string() && first["caps"]["max_binding"].as_u64().is_some_and(|n| n > 0), "{out}");
    assert_eq!(first["plans"].as_array().map(Vec::len), Some(3));
    assert_eq!(first["plans"][0]["norm"]["hidden"], 4096);
}

#[test]
fn verify_writes_json_and_junit_and_counts() {
    let folder = tempfile::tempdir().unwrap();
    let (output, out, err) = run_in(folder.path(), &["verify", "--only", "e2 ", "--json=report.json", "--junit", "report.xml"]);
    assert!(output.status.success() && out.contains("none wrong"), "{out}{err}");
    let report = std::fs::read_to_string(folder.path().join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let junit = std::fs::read_to_string(folder.path().join("report.xml")).unwrap();
    for adapter in report.as_array().unwrap() {
        let cases = adapter["cases"].as_array().unwrap();
        assert!(cases.len() >= 5 && cases.iter().all(|case| case["status"] == "passed"), "{report}");
        assert_eq!(adapter["passed"].as_u64(), Some(cases.len() as u64));
        let slowest = &adapter["slowest_compile"];
        assert!(slowest["milliseconds"].as_f64().unwrap() > 0.0, "{slowest}");
        assert!(out.contains(&format!("Slowest kernel to compile: {}", slowest["kernel"].as_str().unwrap())), "{out}");
        let suite = format!("<testsuite name=\"{}\" tests=\"{}\"", adapter["adapter"].as_str().unwrap(), cases.len());
        assert!(junit.contains(&suite), "{suite} in {junit}");
    }
    assert!(junit.contains("name=\"E2 torch weight 3.7\" classname="), "{junit}");
}

/// Codes are dtypes like all others to the table: columns for those that occur, and elements counted.
#[test]
fn verify_counts_every_dtype() {
    let (output, out, err) = run(program(&["verify", "--only", "codes", "--adapter", "llvmpipe"]));
    assert!(output.status.success(), "{out}{err}");
    let (heading, all) =
        (out.lines().find(|line| line.contains("kind")).unwrap(), out.lines().find(|line| line.starts_with(" all")));
    assert!(heading.contains("i8 ULP") && heading.contains("f8e4m3 ULP") && !heading.contains("bf16 ULP"), "{out}");
    let elements: usize = all.unwrap().split_whitespace().nth(5).unwrap().parse().unwrap();
    assert!(elements > 1000, "{out}");
    let (_, out, _) = run(program(&["verify", "--only", "codes", "--adapter", "llvmpipe", "--json"]));
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    let dtypes = report[0]["dtypes"].as_object().unwrap();
    let of_codes = |name: &str| dtypes[name]["elements"].as_u64().unwrap();
    let (i8s, f8s, scales) = (of_codes("i8"), of_codes("f8e4m3"), of_codes("f32"));
    assert!(i8s > 1000 && f8s > 1000 && scales > 0 && scales < i8s, "{report}");
    assert_eq!(dtypes.keys().map(|name| of_codes(name)).sum::<u64>(), elements as u64);
}

/// A kernel that is wrong: every check notices, says so with exit code 1, and writes no wrong result.
#[test]
fn a_broken_kernel_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let broken = |arguments: &[&str]| {
        let (output, out, err) =
            run_in(folder.path(), &[arguments, &["--fault", "return r + opaque_one(r=>return r * 1.03 + opaque_one(r"]].concat());
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {out}{err}");
        out
    };
    assert!(broken(&["demo"]).contains("Beyond the error model: model.layers.0.input_layernorm in f32"));
    assert!(broken(&["check-model", MODEL]).contains("WRONG: model.layers.0.input_layernorm.weight, "));
    let out = broken(&["verify", "--only", "e2 torch", "--junit", "report.xml", "--json=report.json"]);
    assert!(out.contains("FAILED") && out.contains("beyond the error model, the first at 0"), "{out}");
    let junit = std::fs::read_to_string(folder.path().join("report.xml")).unwrap();
    assert!(junit.contains("<failure message=") && junit.contains("failures=\"1\""), "{junit}");
    let report = std::fs::read_to_string(folder.path().join("report.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let case = &report[0]["cases"][0];
    assert_eq!(
        (&report[0]["failed"], &case["status"], &case["outcome"]["first_wrong"][0]["index"]),
        (&1.into(), &"failed".into(), &0.into())
    );

    let input = format!("{MODEL}/model.safetensors:model.norm.weight");
    let out = broken(&["apply", &input, "-o", "y.npy", "--eps", "1e-5", "--check"]);
    assert!(out.contains("256 elements: ") && out.contains("WRONG, the first at 0") && out.contains("Wrote    nothing"), "{out}");
    let report: serde_json::Value =
        serde_json::from_str(&broken(&["apply", &input, "-o", "y.npy", "--eps", "1e-5", "--check", "--json"])).unwrap();
    assert_eq!((&report["written"], &report["check"]["first_wrong"][0]["index"]), (&false.into(), &0.into()));
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "the two reports and no output: {left:?}");
}

/// No file is lost to a report.
#[test]
fn reports_replace_nothing_unless_forced() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("report.json"), "precious").unwrap();
    let explain = ["explain", "4x8", "--json=report.json"];
    refused(folder.path(), 64, &explain, &["report.json: exists already", "--force"]);
    refused(folder.path(), 64, &["verify", "--only", "d3", "--junit", "report.json"], &["exists already"]);
    let both = ["verify", "--only", "d3", "--junit", "new.x", "--json=./new.x"];
    refused(folder.path(), 64, &both, &["this file is read or written otherwise"]);
    assert_eq!(std::fs::read(folder.path().join("report.json")).unwrap(), b"precious");
    let (output, _, err) = run_in(folder.path(), &[&explain[..], &["--force"]].concat());
    assert!(output.status.success(), "{err}");
    assert!(std::fs::read_to_string(folder.path().join("report.json")).unwrap().contains("\"kernel\""));
    // A refusal leaves the old report.
    refused(folder.path(), 64, &["explain", "4x0", "--json=report.json", "--force"], &["hidden"]);
    assert!(std::fs::read_to_string(folder.path().join("report.json")).unwrap().contains("\"kernel\""));
}

/// A full disk behind standard output is an error, where a closed pipe is none.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_noticed() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = program(&["explain", "4x8", "--wgsl"]).stdout(full).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(64) && err.contains("standard output cannot be written"), "{err}");
}

/// JSON comes alone on standard output, and parses, for every subcommand that reports.
#[test]
fn json_is_alone_on_standard_output() {
    for arguments in [
        &["demo"][..],
        &["devices"],
        &["verify", "--only", "d3"],
        &["verify", "--list"],
        &["explain", "4x64"],
        &["check-model", MODEL],
    ] {
        let (output, out, err) = run(program(&[arguments, &["--json"]].concat()));
        assert!(output.status.success(), "{arguments:?}: {err}");
        assert!(serde_json::from_str::<serde_json::Value>(&out).is_ok(), "{arguments:?}: {out}");
    }
}

/// Colours are for terminals: a pipe gets none.
#[test]
fn pipes_get_no_colours() {
    for arguments in [&["demo"][..], &["verify", "--only", "d3"], &["--help"], &["explain"], &["explain", "0x0"]] {
        let (_, out, err) = run(program(arguments));
        assert!(!out.contains('\x1b') && !err.contains('\x1b'), "{arguments:?}: {out}{err}");
    }
}

#[test]
fn completions_and_manual_pages_are_written() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (output, out, _) = run(program(&["completions", shell]));
        assert!(output.status.success() && out.contains("check-model"), "{shell}: {out}");
    }
    let (output, out, _) = run(program(&["man"]));
    assert!(output.status.success() && out.contains(".TH wgpu-rmsnorm 1") && out.contains("Exit codes"), "{out}");
    for subcommand in ["demo", "devices", "verify", "apply", "check-model", "explain", "completions", "man"] {
        let (output, out, _) = run(program(&["man", subcommand]));
        assert!(output.status.success() && out.contains(&format!(".TH wgpu-rmsnorm-{subcommand} 1")), "{subcommand}: {out}");
    }
    let (output, _, err) = run(program(&["man", "woman"]));
    assert!(output.status.code() == Some(64) && err.contains("there are: demo, devices"), "{err}");
}

#[test]
fn wrong_arguments_are_explained() {
    let (output, _, err) = run(program(&["verify", "--only", "no such case"]));
    assert!(output.status.code() == Some(64) && err.contains("no such case"), "{err}");
    for command in [&["verify"][..], &["devices"], &["demo"], &[]] {
        let (output, _, err) = run(program(&[&["--adapter", "no such adapter"], command].concat()));
        assert!(output.status.code() == Some(64) && err.contains("no such adapter") && err.contains("there are: "), "{err}");
    }
    let (output, out, _) = run(program(&["verify", "--list", "--only", "d3"]));
    assert!(output.status.success() && out.contains("D3 eps inside the root"), "{out}");
    let (output, _, err) = run(program(&["verify", "--tier", "most"]));
    assert!(output.status.code() == Some(64) && err.contains("quick"), "{err}");
    let (output, out, _) = run(program(&["--help"]));
    assert!(output.status.success() && out.contains("devices"), "{out}");
    let (output, _, err) = run(program(&["verify", "--only", "D3", "--json=/nonexistent/report.json"]));
    assert!(output.status.code() == Some(64) && err.contains("/nonexistent/report.json"), "{err}");
}

#[cfg(target_os = "linux")]
#[test]
fn m1_without_an_adapter_the_demo_works_on_the_cpu_and_verify_exits_with_2() {
    let (output, out, err) = run(without_adapter(&[]));
    assert!(output.status.success(), "{out}{err}");
    assert!(out.contains("mesa-vulkan-drivers") && out.contains("All 27 results"), "{out}");
    assert!(out.contains("All 11 members of the CPU reference are within the error model"), "{out}");
    let (output, _, err) = run(without_adapter(&["verify"]));
    assert_eq!(output.status.code(), Some(2), "{err}");
    let (output, _, err) = run(without_adapter(&["devices"]));
    assert!(output.status.code() == Some(2) && err.contains("mesa-vulkan-drivers"), "{err}");
    let (output, _, err) = run(without_adapter(&["check-model", MODEL]));
    assert!(output.status.code() == Some(2) && err.contains("mesa-vulkan-drivers"), "{err}");
    let (output, out, err) = run(without_adapter(&["explain", "4x64"]));
    assert!(output.status.success() && out.contains("Any WebGPU device") && err.contains("note: there is no adapter"), "{err}");
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    use std::process::Stdio;
    let mut child = program(&["--help"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    // Nor does it lose the report and the verdict.
    let folder = tempfile::tempdir().unwrap();
    let mut child = program(&["verify", "--only", "d3", "--json=closed.json"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let report = std::fs::read_to_string(folder.path().join("closed.json")).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert!(report[0]["passed"].as_u64().is_some_and(|n| n > 0));
}
