//! What is printed: lines for people, in colour on a terminal alone, and JSON for machines.

use std::fmt;
use std::io::{self, ErrorKind, Write, stdout};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anstyle::{AnsiColor, Style};
use clap::Args;
use serde_json::Value;

use crate::failure::Failure;
use crate::whole_file::{WholeFile, is_same};

/// What is right.
pub const GOOD: Style = AnsiColor::Green.on_default();
/// What is wrong.
pub const BAD: Style = AnsiColor::Red.on_default().bold();

/// Why standard output could not be written first.
static LOST: OnceLock<String> = OnceLock::new();

/// Standard output may be closed at any line: `wgpu-rmsnorm | head` is no error. Where nobody reads any more nothing is written,
/// and the work and its exit code stay what they are. Any other error, such as a full disk, counts.
fn written(result: io::Result<()>) {
    if let Err(error) = result
        && error.kind() != ErrorKind::BrokenPipe
    {
        LOST.get_or_init(|| error.to_string());
    }
}

/// Writes a line to standard output.
pub fn line(text: fmt::Arguments<'_>) {
    written(writeln!(anstream::stdout(), "{text}"));
}

/// `println!` by way of [`line()`].
macro_rules! say {
    ($($argument:tt)*) => { $crate::output::line(format_args!($($argument)*)) };
}
pub(crate) use say;

/// Writes bytes to standard output as they are.
pub fn raw(bytes: &[u8]) {
    written(stdout().write_all(bytes));
}

/// Checks, at the end, that everything that was printed could be written.
pub fn finish() -> Result<(), Failure> {
    written(stdout().flush());
    LOST.get().map_or(Ok(()), |error| {
        Err(Failure::new(format_args!("standard output cannot be written: {error}"), "make room, or send it elsewhere"))
    })
}

/// Writes an error to standard error.
pub fn complain(message: impl fmt::Display) {
    // There is no better place to complain that this one is closed.
    let _ = writeln!(anstream::stderr(), "{BAD}error:{BAD:#} {}", harmless(message));
}

/// Writes a remark to standard error.
pub fn note(message: impl fmt::Display) {
    let _ = writeln!(anstream::stderr(), "note: {}", harmless(message));
}

/// A text that may hold what a file or a file's name says, with its control characters escaped: a terminal would obey them. Lines
/// stay lines.
pub fn harmless(text: impl fmt::Display) -> String {
    let mut harmless = String::new();
    for c in text.to_string().chars() {
        if c.is_control() && c != '\n' {
            harmless.extend(c.escape_default());
        } else {
            harmless.push(c);
        }
    }
    harmless
}

/// Over the options that subcommands have in common.
pub const COMMON: &str = "Common options";

/// A number as it was written, and not as binary64 sees it: 1e-5, and not 9.999999747378752e-6.
pub fn number(value: f32) -> Value {
    format!("{value:e}").parse::<f64>().map_or(Value::Null, Value::from)
}

/// Whether and where JSON is written.
#[derive(Debug, Clone, Args)]
pub struct Json {
    /// Print JSON instead of text; with =FILE, write it there and print the text all the same
    #[arg(long, global = true, help_heading = COMMON, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    json: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long, global = true, help_heading = COMMON)]
    pub force: bool,
}

impl Json {
    /// Gets ready to report: a file that cannot be written is better known before the work than after it.
    pub fn report(&self) -> Result<Report, Failure> {
        let target = match &self.json {
            None => Target::None,
            Some(file) if file.as_os_str() == "-" => Target::Stdout,
            Some(file) => Target::File(WholeFile::create(file, self.force)?),
        };
        Ok(Report { target })
    }
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
    File(WholeFile),
}

impl Report {
    /// Whether text is printed.
    pub fn wants_text(&self) -> bool {
        !matches!(self.target, Target::Stdout)
    }

    /// Refuses to report into a file that the subcommand reads or writes itself.
    pub fn keep_off<'a>(&self, files: impl IntoIterator<Item = &'a Path>) -> Result<(), Failure> {
        let Target::File(report) = &self.target else { return Ok(()) };
        match files.into_iter().find(|file| is_same(file, report.target())) {
            None => Ok(()),
            Some(file) => Err(Failure::new(
                format_args!("--json={}: this file is read or written otherwise", file.display()),
                "choose another file for the report",
            )),
        }
    }

    /// Writes a line of JSON of several, where they are wanted; [`Report::finish`] comes last.
    pub fn line(&mut self, json: &Value) -> Result<(), Failure> {
        match &mut self.target {
            Target::None => Ok(()),
            Target::Stdout => {
                say!("{json}");
                Ok(())
            }
            Target::File(file) => file.write(format!("{json}\n").as_bytes()),
        }
    }

    /// Ends a report of lines.
    pub fn finish(self) -> Result<(), Failure> {
        match self.target {
            Target::None | Target::Stdout => Ok(()),
            Target::File(file) => file.commit(),
        }
    }

    /// Writes the JSON, where it is wanted.
    pub fn write(self, json: &Value) -> Result<(), Failure> {
        match self.target {
            Target::None => Ok(()),
            Target::Stdout => {
                say!("{json:#}");
                Ok(())
            }
            Target::File(mut file) => {
                file.write(format!("{json:#}\n").as_bytes())?;
                file.commit()
            }
        }
    }
}
