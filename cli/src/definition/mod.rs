//! Which norm is meant: flags that several subcommands share.

mod beside;
mod codes;
mod gradients;
mod parse;
mod parts;

use std::path::{Path, PathBuf};

use clap::Args;
use wgpu_rmsnorm::{DType, NormSpec, Preset};

use crate::config::ModelConfig;
use crate::failure::Failure;
use crate::output::note;
use beside::Beside;
use codes::Codes;
pub use gradients::Gradients;
pub use parse::{dtype_parser, eps, eps_of, preset_parser};
use parts::Parts;

/// The definition and the dtypes.
#[derive(Debug, Args)]
#[command(next_help_heading = "The norm")]
pub struct Definition {
    /// Whose definition: where it rounds, and what the weight means [default: that of the --config, else torch]
    #[arg(long, value_parser = preset_parser())]
    preset: Option<Preset>,
    /// Added to the mean of squares, inside the root; with 0, rows of zeros stay zeros. `apply` asks for it, here or by --config
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, value_parser = eps)]
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
    /// The dtype of the norm's result, which is the output unless a residual is added to it [default: by the preset's rule]
    #[arg(long, value_name = "DTYPE", value_parser = dtype_parser())]
    output_dtype: Option<DType>,
    #[command(flatten)]
    parts: Parts,
    #[command(flatten)]
    pub beside: Beside,
    #[command(flatten)]
    codes: Codes,
}

impl Definition {
    /// The file that --config names.
    pub fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// The spec with a residual and a gate in these dtypes, and all else that the flags say. Flags that speak of what is not
    /// there are refused; whether the rest goes together is for [`NormSpec::validate`] to say.
    pub fn complete(&self, spec: NormSpec, residual: Option<DType>, gate: Option<DType>) -> Result<NormSpec, Failure> {
        let spec = self.beside.complete(self.parts.complete(spec), residual, gate)?;
        let spec = self.output_dtype.map_or(spec, |dtype| spec.output(dtype));
        Ok(self.codes.complete(spec))
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
        if let (None, None, Some(config)) = (self.preset, family, &config) {
            note(format_args!(
                "the model type {:?} is not known: its norms are taken for preset torch, as without --config",
                config.model_type
            ));
        }
        Ok((preset, eps))
    }

    /// The preset, and an eps that is this one where none is given.
    pub fn resolve_or(&self, default: f32) -> Result<(Preset, f32), Failure> {
        self.resolve().map(|(preset, eps)| (preset, eps.unwrap_or(default)))
    }

    /// The preset and the eps, which has no default: models differ.
    pub fn resolve_with_eps(&self) -> Result<(Preset, f32), Failure> {
        let (preset, eps) = self.resolve()?;
        let missing = || Failure::new("there is no eps", "pass --eps (models use 1e-5 or 1e-6), or --config config.json");
        Ok((preset, eps.ok_or_else(missing)?))
    }
}
