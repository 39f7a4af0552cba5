//! What is printed: lines for people, in colour on a terminal alone, and JSON for machines.

use std::fmt;
use std::fs::File;
use std::io::{Write, stdout};
use std::path::PathBuf;

use anstyle::{AnsiColor, Style};
use clap::Args;
use serde_json::Value;

use crate::failure::Failure;

/// What is right.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// What is wrong.
pub const BAD: Style = AnsiColor::Red.on_default().bold();

/// Writes a line to standard output, which may be closed at any line: `wgpu-rmsnorm | head` is no error. Where nobody reads any
/// more nothing is written, and the work and its exit code stay what they are.
pub fn line(text: fmt::Arguments<'_>) {
    let _ = writeln!(anstream::stdout(), "{text}");
}

/// `println!` by way of [`line()`].
macro_rules! say {
    ($($argument:tt)*) => { $crate::output::line(format_args!($($argument)*)) };
}
pub(crate) use say;

/// Writes an error to standard error.
pub fn complain(message: impl fmt::Display) {
    let _ = writeln!(anstream::stderr(), "{BAD}error:{BAD:#} {message}");
}

/// Writes a remark to standard error.
pub fn note(message: impl fmt::Display) {
    let _ = writeln!(anstream::stderr(), "note: {message}");
}

/// Writes bytes to standard output as they are.
pub fn raw(bytes: &[u8]) {
    let _ = stdout().write_all(bytes);
}

/// Over the options that every subcommand has.
pub const EVERYWHERE: &str = "Everywhere";

/// A number as it was written, and not as binary64 sees it: 1e-5, and not 9.999999747378752e-6.
pub fn number(value: f32) -> Value {
    format!("{value:e}").parse::<f64>().map_or(Value::Null, Value::from)
}

/// Whether and where JSON is written.
#[derive(Debug, Clone, Args)]
pub struct Json {
    /// Print JSON instead of text; with =FILE, write it there and print the text all the same
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    json: Option<PathBuf>,
}

impl Json {
    /// Gets ready to report: a file that cannot be written is better known before the work than after it.
    pub fn report(&self) -> Result<Report, Failure> {
        let target = match &self.json {
            None => Target::None,
            Some(file) if file.as_os_str() == "-" => Target::Stdout,
            Some(file) => Target::File(open(file)?, file.clone()),
        };
        Ok(Report { target })
    }
}

/// Creates a file that a report goes to.
pub fn open(file: &PathBuf) -> Result<File, Failure> {
    File::create(file).map_err(|e| Failure::file(file, format_args!("cannot be written: {e}"), "choose another file"))
}

/// Where the report of a subcommand goes.
#[derive(Debug)]
pub struct Report {
    target: Target,
}

#[derive(Debug)]
enum Target {
    None,
    Stdout,
    File(File, PathBuf),
}

impl Report {
    /// Whether text is printed.
    pub fn wants_text(&self) -> bool {
        !matches!(self.target, Target::Stdout)
    }

    /// Writes the JSON, where it is wanted.
    pub fn write(self, json: &Value) -> Result<(), Failure> {
        match self.target {
            Target::None => Ok(()),
            Target::Stdout => {
                say!("{json:#}");
                Ok(())
            }
            Target::File(mut file, path) => writeln!(file, "{json:#}")
                .map_err(|e| Failure::file(&path, format_args!("cannot be written: {e}"), "make room, or choose another file")),
        }
    }
}
