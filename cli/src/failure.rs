//! What went wrong, on its way to standard error, and the exit code that says so.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use wgpu_rmsnorm::Error;

/// A check failed: a result is wrong, or a device that was to be verified gave none.
pub const WRONG: u8 = 1;
/// There is no adapter to work on.
pub const NO_ADAPTER: u8 = 2;
/// The work could not be done as it was asked for: the EX_USAGE of sysexits.h, for every refusal.
pub const USAGE: u8 = 64;

/// What went wrong, and what to do about it.
#[derive(Debug)]
pub struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    /// A problem and its remedy.
    pub fn new(problem: impl fmt::Display, remedy: impl fmt::Display) -> Self {
        Self { message: format!("{problem}; {remedy}"), code: USAGE }
    }

    /// A problem with a file, and its remedy.
    pub fn file(file: &Path, problem: impl fmt::Display, remedy: impl fmt::Display) -> Self {
        Self::new(format_args!("{}: {problem}", file.display()), remedy)
    }

    /// A message of the library, which names the remedy already.
    pub fn from_library(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), code: USAGE }
    }

    /// A result that a check found wrong.
    pub fn wrong(problem: impl fmt::Display) -> Self {
        Self { message: format!("{problem}; run `wgpu-rmsnorm verify`"), code: WRONG }
    }

    /// The exit code.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(self.code)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// The library's errors name their remedies.
impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = if matches!(error, Error::NoAdapter { .. }) { NO_ADAPTER } else { USAGE };
        Self { message: error.to_string(), code }
    }
}
