//! Checking a device: the error model, the one case list, and the report. Tests, the program and the web page all use it.

mod model;

pub use model::{Mismatch, Outcome, check};
