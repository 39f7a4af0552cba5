//! The program as a user runs it.
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::path::Path;
use std::process::{Command, Output};

/// The checkpoint that the repository has.
pub const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/tiny-llama");

pub fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wgpu-rmsnorm"));
    command.args(arguments);
    command
}

/// A machine without any Vulkan driver, as far as the loader can see.
pub fn without_adapter(arguments: &[&str]) -> Command {
    let mut command = program(arguments);
    command.env("VK_ICD_FILENAMES", "/nonexistent").env("VK_DRIVER_FILES", "/nonexistent");
    command
}

pub fn run(mut command: Command) -> (Output, String, String) {
    let output = command.output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout.clone()).unwrap(), String::from_utf8(output.stderr.clone()).unwrap());
    (output, out, err)
}

/// Runs the program in a folder.
pub fn run_in(folder: &Path, arguments: &[&str]) -> (Output, String, String) {
    let mut command = program(arguments);
    command.current_dir(folder);
    run(command)
}

/// Runs it, and expects an error of this exit code that says these words and names a remedy.
pub fn refused(folder: &Path, code: i32, arguments: &[&str], words: &[&str]) {
    let (output, out, err) = run_in(folder, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {out}{err}");
    assert!(out.is_empty() && err.starts_with("error: "), "{arguments:?}: {out}{err}");
    let remedy = err.contains("; ") || err.contains("For more information") || err.contains("possible values");
    assert!(remedy, "{arguments:?}: no remedy in {err}");
    for word in words {
        assert!(err.contains(word), "{arguments:?}: {word:?} in {err}");
    }
}
