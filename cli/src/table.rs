//! Tables and numbers as they are printed.

use crate::output::say;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// A table with these headings. Columns after the first `text` ones hold numbers and are aligned to the right.
pub fn new(headings: &[&str], text: usize) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled).set_header(headings.to_vec());
    for column in table.column_iter_mut().skip(text) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Prints a table without the blanks at the ends of its lines.
pub fn print(table: &Table) {
    for line in table.to_string().lines() {
        say!("{}", line.trim_end());
    }
}

/// Seconds in a unit that suits them.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.2} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// Bytes in a unit that suits them.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        b if b < 10 << 10 => format!("{b} bytes"),
        b if b < 10 << 20 => format!("{} KiB", b >> 10),
        b => format!("{} MiB", b >> 20),
    }
}
