//! Checking a device: the error model, the one case list, and the report. Tests, the program and the web page all use it.

mod beside;
mod case;
mod cases;
mod data;
#[cfg(feature = "gpu")]
mod execute;
mod gradients;
mod model;
mod right;
#[cfg(feature = "gpu")]
mod run;

pub use beside::check_all;
pub use case::{Arrangement, Case, Lowered, Tier, Twin};
pub use cases::{HIDDEN, MORE_HIDDEN, cases};
pub use data::{Data, Regime, Weights};
pub use gradients::check_gradients;
pub use model::{Mismatch, Outcome, check};
#[cfg(feature = "gpu")]
pub use run::{CaseReport, PIPELINES_TO_KEEP, Status, kernels, run_case};
