//! Standard output, which may be closed at any line: `wgpu-rmsnorm | head` is no error.

use std::fmt;
use std::io::{Write, stdout};

/// Writes a line. Where nobody reads any more nothing is written, and the work and its exit code stay what they are.
pub fn line(text: fmt::Arguments<'_>) {
    let _ = writeln!(stdout(), "{text}");
}

/// `println!` by way of [`line()`].
macro_rules! say {
    ($($argument:tt)*) => { $crate::output::line(format_args!($($argument)*)) };
}
pub(crate) use say;
