//! The readers of what nobody vouches for, by themselves: files and arguments that may be anything. None of them may panic, allocate what
//! a header merely promises, or accept what it then cannot read. The tests in `tests/hostile.rs` and the targets in `fuzz/` call them.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;

use clap::Parser;
use wgpu_rmsnorm::DType;

use crate::failure::Failure;
use crate::tensor::safetensors::Index;
use crate::tensor::{Format, Location, Source};
use crate::{Arguments, config};

/// Elements that are read at once.
const AT_ONCE: u64 = 1 << 16;

/// Reads a `.npy` file to its end, as what it says it is and as each dtype, and returns its elements.
///
/// # Errors
/// The message that the program prints.
pub fn npy(bytes: &[u8]) -> Result<u64, String> {
    with_file(bytes, ".npy", |file| {
        let location = Location { file: file.to_owned(), format: Format::Npy, tensor: None };
        read(&location)
    })
}

/// Reads every tensor of a `.safetensors` file to its end, and returns the elements of all.
///
/// # Errors
/// The message that the program prints for the first that it refuses.
pub fn safetensors(bytes: &[u8]) -> Result<u64, String> {
    with_file(bytes, ".safetensors", |file| {
        let mut elements = 0;
        for name in Index::open(file)?.names() {
            let location = Location { file: file.to_owned(), format: Format::Safetensors, tensor: Some(name) };
            elements += read(&location)?;
        }
        Ok(elements)
    })
}

/// Reads a model's `config.json` and its eps.
///
/// # Errors
/// The message that the program prints.
pub fn model_config(bytes: &[u8]) -> Result<f32, String> {
    with_file(bytes, ".json", |file| config::ModelConfig::read(file)?.eps())
}

/// Parses the words after the program's name, and does nothing with them.
///
/// # Errors
/// The message that the program prints; help and version are messages too.
pub fn arguments(words: impl IntoIterator<Item = OsString>) -> Result<(), String> {
    let all = [OsString::from("wgpu-rmsnorm")].into_iter().chain(words);
    Arguments::try_parse_from(all).map(drop).map_err(|message| message.to_string())
}

/// All elements of a tensor, by each dtype that may be asked for.
fn read(location: &Location) -> Result<u64, Failure> {
    let mut found = Err(Failure::new("nothing was read", "ask for a dtype"));
    for asked in [None, Some(DType::F32), Some(DType::F16), Some(DType::BF16)] {
        let opened = Source::open(location, asked, Some("--dtype"));
        let mut source = match opened {
            Ok(source) => source,
            Err(failure) if found.is_err() => {
                found = Err(failure);
                continue;
            }
            Err(_) => continue,
        };
        let all = source.elements();
        let mut left = all;
        while left > 0 {
            let some = left.min(AT_ONCE);
            source.read(some)?;
            left -= some;
        }
        found = Ok(all);
    }
    found
}

/// Makes a file of these bytes for the readers to open, as they do with any.
fn with_file<T>(bytes: &[u8], ending: &str, work: impl FnOnce(&Path) -> Result<T, Failure>) -> Result<T, String> {
    let cannot = |error: std::io::Error| format!("a temporary file cannot be written: {error}");
    let mut file = tempfile::Builder::new().suffix(ending).tempfile().map_err(cannot)?;
    file.write_all(bytes).map_err(cannot)?;
    work(file.path()).map_err(|failure| failure.to_string())
}
