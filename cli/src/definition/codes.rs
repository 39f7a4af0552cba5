//! Output in codes of 8 bits.

use clap::Args;
use wgpu_rmsnorm::{DType, NormSpec};

use super::parse::code_parser;

/// Codes, and their scale.
#[derive(Debug, Args)]
#[command(next_help_heading = "The norm")]
pub struct Codes {
    /// Write the output in codes of 8 bits, by a scale of each row (of each group)
    #[arg(long, value_name = "CODES", value_parser = code_parser())]
    quantized: Option<DType>,
    /// One scale for all rows, known beforehand: value = code · scale
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, requires = "quantized")]
    scale: Option<f32>,
}

impl Codes {
    /// The spec with them.
    pub fn complete(&self, spec: NormSpec) -> NormSpec {
        match (self.quantized, self.scale) {
            (Some(dtype), Some(scale)) => spec.quantized_by(dtype, scale),
            (Some(dtype), None) => spec.quantized(dtype),
            (None, _) => spec,
        }
    }
}
