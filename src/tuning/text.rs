//! A record as text.
//!
//! ```text
//! wgpu-rmsnorm tuning 1
//! version 0.1.0
//! adapter llvmpipe (LLVM 15.0.6, 256 bits)
//! driver llvmpipe
//! driver_version Mesa 22.3.6 (LLVM 15.0.6)
//! backend Vulkan
//! lanes 4096 32
//! choice 512 rms_norm,hidden=4096,input=f16,weight=f16,output=f16,norm=f16 rung=solo width=1
//! checksum 53e1ab1f90c0d9a2
//! ```
//!
//! The last line is the 64-bit FNV-1a of all bytes before it.

use std::fmt::Write;

use super::{Origin, Tuning, bucket, choice};
use crate::error::{Detail, Error, Result};
use crate::plan::Force;

const HEADER: &str = "wgpu-rmsnorm tuning 1";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// A record of ten thousand choices is as long.
const MOST_BYTES: usize = 1 << 20;
/// What of a wrong line is shown.
const SHOWN: usize = 80;

pub(super) fn write(tuning: &Tuning) -> Vec<u8> {
    let mut text = format!("{HEADER}\nversion {VERSION}\n");
    for (name, value) in tuning.origin.fields() {
        push(&mut text, format_args!("{name} {value}"));
    }
    for (length, lanes) in &tuning.lanes {
        push(&mut text, format_args!("lanes {length} {lanes}"));
    }
    for ((key, bucket), choice) in &tuning.choices {
        push(&mut text, format_args!("choice {} {key} {}", 1u64 << bucket, choice::words(choice).join(" ")));
    }
    let sum = checksum(text.as_bytes());
    push(&mut text, format_args!("checksum {sum:016x}"));
    text.into_bytes()
}

fn push(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "{line}");
}

pub(super) fn read(bytes: &[u8]) -> Result<Tuning> {
    if bytes.len() > MOST_BYTES {
        return Err(wrong("length", format!("at most {MOST_BYTES} bytes"), &format!("{} bytes", bytes.len())));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| wrong("bytes", "text in UTF-8", &error.to_string()))?;
    let mut lines = text.lines();
    let header = lines.next().unwrap_or("");
    if header != HEADER {
        return Err(wrong("header", format!("{HEADER:?}"), header));
    }
    let body = undamaged(text)?;
    let mut lines = body.lines().skip(1);
    let mut field = |name: &str| match lines.next().and_then(|line| line.split_once(' ')) {
        Some((found, value)) if found == name => Ok(value),
        other => Err(wrong(name, "a line that begins with this name", other.map_or("none", |(found, _)| found))),
    };
    let version = field("version")?;
    if version != VERSION {
        return Err(wrong("version", VERSION, version));
    }
    let origin = Origin::new(field("adapter")?, field("driver")?, field("driver_version")?, field("backend")?);
    let mut tuning = Tuning::new(origin);
    for line in lines {
        entry(&mut tuning, line)
            .ok_or_else(|| wrong("line", "\"lanes LENGTH LANES\" or \"choice ROWS NORM CHOICES\", each once", line))?;
    }
    Ok(tuning)
}

/// The text before its last line, which must be the checksum of it.
fn undamaged(text: &str) -> Result<&str> {
    let begin = text.strip_suffix('\n').and_then(|text| text.rfind('\n')).map_or(0, |end| end + 1);
    let (body, last) = text.split_at(begin);
    let expected = format!("checksum {:016x}\n", checksum(body.as_bytes()));
    if last == expected { Ok(body) } else { Err(wrong("checksum", expected.trim_end(), last)) }
}

/// Takes in a line. `None` for one that is none, or that was there before.
fn entry(tuning: &mut Tuning, line: &str) -> Option<()> {
    let mut words = line.split(' ');
    let (name, number) = (words.next()?, words.next()?.parse::<u64>().ok()?);
    match name {
        "lanes" => {
            let lanes = words.next()?.parse().ok()?;
            let is_new = words.next().is_none() && tuning.lanes(number).is_none();
            is_new.then(|| tuning.set_lanes(number, Some(lanes)).ok())?
        }
        "choice" if number.is_power_of_two() => {
            let key = words.next().filter(|key| !key.is_empty())?;
            let mut made = Force::default();
            words.try_for_each(|word| choice::make(&mut made, word))?;
            let before = tuning.choices.insert((key.to_owned(), bucket(number)), made);
            (before.is_none() && made != Force::default()).then_some(())
        }
        _ => None,
    }
}

fn wrong(argument: &str, expected: impl Into<String>, actual: &str) -> Error {
    let shown: String = actual.chars().take(SHOWN).collect();
    let remedy = "measure on this device, with this version: wgpu-rmsnorm tune";
    Error::Tuning(Detail::new(argument, expected, format!("{shown:?}"), remedy))
}

/// 64-bit FNV-1a: against damage, not against malice.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}
