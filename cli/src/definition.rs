//! Which norm is meant: flags that several subcommands share.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use wgpu_rmsnorm::{DType, NormSpec, Preset};

use crate::config::ModelConfig;
use crate::failure::Failure;
use crate::output::note;

/// The definition and the dtypes.
#[derive(Debug, Args)]
#[command(next_help_heading = "The norm")]
pub struct Definition {
    /// Whose definition: where it rounds, and what the weight means [default: that of the --config, else torch]
    #[arg(long, value_parser = preset_parser())]
    preset: Option<Preset>,
    /// Added to the mean of squares, inside the root; with 0, rows of zeros stay zeros
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
    /// A residual that is added first is in this dtype [default: the file's]; the sum is written back in it
    #[arg(long, value_name = "DTYPE", value_parser = dtype_parser())]
    pub residual_dtype: Option<DType>,
    /// Normalise the sum with the residual before it is rounded
    #[arg(long, conflicts_with = "add_after")]
    pub unrounded: bool,
    /// Add the residual to the result, not to the input
    #[arg(long)]
    pub add_after: bool,
    /// The dtype of the norm's result, which is the output unless a residual is added to it [default: by the preset's rule]
    #[arg(long, value_name = "DTYPE", value_parser = dtype_parser())]
    pub output_dtype: Option<DType>,
}

impl Definition {
    /// The file that --config names.
    pub fn config(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// The spec with a residual in this dtype and the output's dtype, as the flags say. Flags that speak of a residual that is not
    /// there are refused.
    pub fn complete(&self, mut spec: NormSpec, residual: Option<DType>) -> Result<NormSpec, Failure> {
        spec = match residual {
            Some(dtype) if self.add_after => spec.then_add_residual(dtype),
            Some(dtype) if self.unrounded => spec.add_residual(dtype).unrounded(),
            Some(dtype) => spec.add_residual(dtype),
            None if self.unrounded || self.add_after || self.residual_dtype.is_some() => {
                let problem = "--unrounded, --add-after, --residual-dtype: there is no residual";
                return Err(Failure::new(problem, "leave them out, or pass --residual"));
            }
            None => spec,
        };
        Ok(self.output_dtype.map_or(spec, |dtype| spec.output(dtype)))
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

    /// The preset and the eps, which has no default: models differ.
    pub fn resolve_with_eps(&self) -> Result<(Preset, f32), Failure> {
        let (preset, eps) = self.resolve()?;
        let missing = || Failure::new("there is no eps", "pass --eps (models use 1e-5 or 1e-6), or --config config.json");
        Ok((preset, eps.ok_or_else(missing)?))
    }
}

/// Parses an eps. What f32 would turn into another number, 0 or infinity, is refused.
pub fn eps(text: &str) -> Result<f32, String> {
    let exact: f64 = text.parse().map_err(|_| "expected a number, such as 1e-6".to_owned())?;
    eps_of(exact).ok_or_else(|| "expected 0, or a number between 1e-45 and 3e38; models use 1e-5 or 1e-6".to_owned())
}

/// An eps in f32, `None` where f32 does not hold it.
pub fn eps_of(exact: f64) -> Option<f32> {
    let eps = exact as f32;
    (eps.is_finite() && exact >= 0.0 && (eps != 0.0 || exact == 0.0)).then_some(eps)
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
