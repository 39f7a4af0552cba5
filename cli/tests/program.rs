//! The program as a user runs it.

use std::process::{Command, Output};

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgpu-rmsnorm"));
    command.args(arguments);
    command
}

/// A machine without any Vulkan driver, as far as the loader can see.
fn without_adapter(arguments: &[&str]) -> Command {
    let mut command = program(arguments);
    command.env("VK_ICD_FILENAMES", "/nonexistent").env("VK_DRIVER_FILES", "/nonexistent");
    command
}

fn run(mut command: Command) -> (Output, String, String) {
    let output = command.output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout.clone()).unwrap(), String::from_utf8(output.stderr.clone()).unwrap());
    (output, out, err)
}

#[test]
fn the_demo_is_the_default_and_passes() {
    for arguments in [&[][..], &["demo"]] {
        let (output, out, err) = run(program(arguments));
        assert!(output.status.success(), "{out}{err}");
        assert!(out.contains("model.layers.3.post_attention_layernorm") && out.contains("All 27 results"), "{out}");
        assert_eq!(out.lines().filter(|line| line.contains("39 x 256")).count(), 27);
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
}

#[test]
fn verify_writes_json_and_counts() {
    let file = std::env::temp_dir().join(format!("wgpu-rmsnorm-verify-{}.json", std::process::id()));
    let (output, out, err) = run(program(&["verify", "--only", "D", "--json", file.to_str().unwrap()]));
    assert!(output.status.success(), "{out}{err}");
    let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    std::fs::remove_file(&file).unwrap();
    for adapter in report.as_array().unwrap() {
        let cases = adapter["cases"].as_array().unwrap();
        assert!(cases.len() > 5 && cases.iter().all(|case| case["status"] == "passed"), "{report}");
        assert_eq!(adapter["passed"].as_u64(), Some(cases.len() as u64));
    }
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
    let (output, _, err) = run(program(&["verify", "--only", "D3", "--json", "/nonexistent/report.json"]));
    assert!(output.status.code() == Some(64) && err.contains("/nonexistent/report.json"), "{err}");
}

#[cfg(target_os = "linux")]
#[test]
fn m1_without_an_adapter_the_demo_works_on_the_cpu_and_verify_exits_with_2() {
    let (output, out, err) = run(without_adapter(&[]));
    assert!(output.status.success(), "{out}{err}");
    assert!(out.contains("mesa-vulkan-drivers") && out.contains("All 27 results"), "{out}");
    let (output, _, err) = run(without_adapter(&["verify"]));
    assert_eq!(output.status.code(), Some(2), "{err}");
    let (output, _, err) = run(without_adapter(&["devices"]));
    assert!(output.status.code() == Some(64) && err.contains("mesa-vulkan-drivers"), "{err}");
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    use std::process::Stdio;
    let mut child = program(&["--help"]).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_ne!(child.wait().unwrap().code(), Some(101), "a panic");
    // Nor does it lose the report and the verdict.
    let file = std::env::temp_dir().join(format!("wgpu-rmsnorm-closed-{}.json", std::process::id()));
    let arguments = ["verify", "--only", "d3", "--json", file.to_str().unwrap()];
    let mut child = program(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(report[0]["passed"].as_u64().is_some_and(|n| n > 0));
}
