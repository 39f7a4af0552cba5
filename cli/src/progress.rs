//! A bar on standard error, on a terminal alone.

use indicatif::{ProgressBar, ProgressStyle};

/// Counts pieces of work; the message says which.
pub fn of_pieces(pieces: u64) -> ProgressBar {
    styled(pieces, "{bar:30} {pos}/{len}  {elapsed}  {wide_msg}")
}

/// Counts bytes of a file.
pub fn of_bytes(bytes: u64) -> ProgressBar {
    styled(bytes, "{bar:30} {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left")
}

fn styled(length: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}
