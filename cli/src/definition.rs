//! Which norm is meant: flags that several subcommands share.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use wgpu_rmsnorm::{DType, Preset};

use crate::config::ModelConfig;
use crate::failure::Failure;

/// The definition and the dtypes.
#[derive(Debug, Args)]
#[command(next_help_heading = "The norm")]
pub struct Definition {
    /// Whose definition: where it rounds, and what the weight means [default: that of the --config, else torch]
    #[arg(long, value_parser = preset_parser())]
    preset: Option<Preset>,
    /// Added to the mean of squares, inside the root
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    eps: Option<f32>,
    /// A model's config.json: its eps, and the preset of its family
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The input's dtype [default: the file's; f32 where there is no file]. A file of another is rounded to it
    #[arg(long, value_parser = dtype_parser())]
    pub dtype: Option<DType>,
    /// The dtype of weight and bias, likewise [default: the file's; the input's where there is no file]
    #[arg(long, value_name = "DTYPE", value_parser = dtype_parser())]
    pub weight_dtype: Option<DType>,
    /// The output's dtype [default: by the preset's rule]
    #[arg(long, value_name = "DTYPE", value_parser = dtype_parser())]
    pub output_dtype: Option<DType>,
}

impl Definition {
    /// The file that --config names.
    pub fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// The preset, and an eps where one is given.
    pub fn resolve(&self) -> Result<(Preset, Option<f32>), Failure> {
        let config = self.config.as_deref().map(ModelConfig::read).transpose()?;
        let family = config.as_ref().and_then(|config| config.family);
        let preset = self.preset.or(family.map(|family| family.preset)).unwrap_or(Preset::Torch);
        let eps = match (self.eps, &config) {
            (Some(eps), _) => Some(eps),
            (None, Some(config)) => Some(config.eps()?),
            (None, None) => None,
        };
        Ok((preset, eps))
    }

    /// The preset and the eps, which has no default: models differ.
    pub fn resolve_with_eps(&self) -> Result<(Preset, f32), Failure> {
        let (preset, eps) = self.resolve()?;
        let missing = || Failure::new("there is no eps", "pass --eps (models use 1e-5 or 1e-6), or --config config.json");
        Ok((preset, eps.ok_or_else(missing)?))
    }
}

/// Parses a preset's name; `--help` lists them.
pub fn preset_parser() -> impl TypedValueParser<Value = Preset> {
    PossibleValuesParser::new(Preset::ALL.map(Preset::name)).try_map(|name| name.parse::<Preset>())
}

/// Parses a dtype's name; `--help` lists them.
pub fn dtype_parser() -> impl TypedValueParser<Value = DType> {
    let values = DType::ALL.map(|dtype| PossibleValue::new(dtype.name()).alias(dtype.long_name()));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<DType>())
}
