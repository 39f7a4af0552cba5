//! The program as a user runs it.
#![allow(dead_code, reason = "every test file uses a part of it")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use wgpu_rmsnorm::{DType, Values};

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

/// A `.npy` file, written by hand: the program must not be its own judge.
pub fn npy(path: &Path, descr: &str, shape: &str, bytes: &[u8]) {
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    while !(10 + text.len() + 1).is_multiple_of(64) {
        text.push(' ');
    }
    text.push('\n');
    let mut file = b"\x93NUMPY\x01\0".to_vec();
    file.extend((text.len() as u16).to_le_bytes());
    file.extend(text.as_bytes());
    file.extend(bytes);
    fs::write(path, file).unwrap();
}

/// The text of a header, and the bytes behind it.
pub fn read_npy(path: &Path) -> (String, Vec<u8>) {
    let file = fs::read(path).unwrap();
    assert_eq!(&file[..8], b"\x93NUMPY\x01\0");
    let length = 10 + usize::from(u16::from_le_bytes([file[8], file[9]]));
    (String::from_utf8(file[10..length].to_vec()).unwrap(), file[length..].to_vec())
}

/// Numbers that look random about a middle.
pub fn wave(dtype: DType, count: u64, scale: f64, middle: f64) -> Values {
    let value = |i: u64| middle + scale * ((i * 7919 % 2003) as f64 / 1001.0 - 1.0);
    Values::round_from(dtype, &(0..count).map(value).collect::<Vec<_>>())
}
