//! Checking a device: the error model, the one case list, and the report. Tests, the program and the web page all use it.

#[cfg(feature = "gpu")]
mod case;
#[cfg(feature = "gpu")]
mod cases;
#[cfg(feature = "gpu")]
mod data;
mod model;
#[cfg(feature = "gpu")]
mod run;

#[cfg(feature = "gpu")]
pub use case::{Arrangement, Case, Lowered, Tier, Twin};
#[cfg(feature = "gpu")]
pub use cases::{HIDDEN, MORE_HIDDEN, cases};
#[cfg(feature = "gpu")]
pub use data::{Data, Regime, Weights};
pub use model::{Mismatch, Outcome, check};
#[cfg(feature = "gpu")]
pub use run::{CaseReport, Status, run_case};
