//! A model's `config.json`: its family, its eps, the dtype of its activations.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wgpu_rmsnorm::DType;

use crate::definition::eps_of;
use crate::failure::Failure;
use crate::families::{self, Family};
use crate::tensor;

/// Where models whose configuration has several parts keep that of the language model.
const PARTS: [&str; 2] = ["text_config", "llm_config"];
/// More than any configuration, and no harm to read.
const MOST_BYTES: u64 = 16 << 20;

/// What a configuration says of the norms.
#[derive(Debug)]
pub struct ModelConfig {
    file: PathBuf,
    /// Its `model_type`, empty where there is none.
    pub model_type: String,
    /// The family of that type, where it is known.
    pub family: Option<&'static Family>,
    /// The dtype of the activations, where it says one.
    pub dtype: Option<DType>,
    /// How many layers it says there are.
    pub layers: Option<u64>,
    eps: Option<(&'static str, Value)>,
}

impl ModelConfig {
    /// Reads a `config.json`, or the one in a folder.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let file = if path.is_dir() { path.join("config.json") } else { path.to_owned() };
        let value = read_json(&file, "a model's config.json is needed here")?;
        let part = PARTS.iter().find_map(|part| value.get(part)).filter(|part| part.is_object());
        let get = |key: &str| part.and_then(|part| part.get(key)).or_else(|| value.get(key));
        let text = |key: &str| get(key).and_then(Value::as_str).unwrap_or_default().to_owned();

        let model_type = text("model_type");
        let family = families::of(&model_type);
        let keys = family.map_or(&["rms_norm_eps", "norm_eps"][..], |family| family.eps_keys);
        let dtype = ["torch_dtype", "dtype"].map(text).iter().find_map(|name| name.trim_start_matches("torch.").parse().ok());
        let eps = keys.iter().find_map(|key| Some((*key, get(key)?.clone())));
        let layers = get("num_hidden_layers").and_then(Value::as_u64);
        Ok(Self { eps, layers, file, model_type, family, dtype })
    }

    /// A configuration that says nothing, for checkpoints without one.
    pub fn absent(file: &Path) -> Self {
        Self { file: file.to_owned(), model_type: String::new(), family: None, dtype: None, layers: None, eps: None }
    }

    /// The model's eps.
    pub fn eps(&self) -> Result<f32, Failure> {
        let remedy = "pass --eps, from the model's own code";
        match &self.eps {
            None => Err(Failure::file(&self.file, "it has no rms_norm_eps, as RMSNorm models do", remedy)),
            Some((key, value)) => value.as_f64().and_then(eps_of).ok_or_else(|| {
                Failure::file(&self.file, format_args!("its {key} is {value}, and not a number that f32 can hold"), remedy)
            }),
        }
    }
}

/// Reads a JSON file of a sensible size.
pub fn read_json(file: &Path, remedy: &str) -> Result<Value, Failure> {
    let fail = |problem: String| Failure::file(file, problem, remedy);
    let (opened, size) = tensor::open(file)?;
    if size > MOST_BYTES {
        return Err(fail(format!("{size} bytes are too many for what should be a few lines of JSON")));
    }
    let mut text = Vec::new();
    opened.take(MOST_BYTES).read_to_end(&mut text).map_err(|e| fail(format!("cannot be read: {e}")))?;
    serde_json::from_slice(&text).map_err(|e| fail(format!("is not JSON: {e}")))
}
