//! Standard output, which may be closed at any line: `wgpu-rmsnorm | head` is no error.

use std::fmt;
use std::io::{ErrorKind, Write, stdout};

/// Writes a line. Ends the program where nobody reads it any more.
pub fn line(text: fmt::Arguments<'_>) {
    if let Err(error) = writeln!(stdout(), "{text}") {
        std::process::exit(if error.kind() == ErrorKind::BrokenPipe { 0 } else { 1 });
    }
}

/// `println!` by way of [`line()`].
macro_rules! say {
    ($($argument:tt)*) => { $crate::output::line(format_args!($($argument)*)) };
}
pub(crate) use say;
