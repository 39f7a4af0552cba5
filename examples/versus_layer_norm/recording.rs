//! The recorded activations: what went into every norm of the tiny Llama for one prompt, and the norms' weights.

use std::error::Error;
use std::path::Path;

use safetensors::SafeTensors;
use wgpu_rmsnorm::{DType, Values};

/// Those that are part of the program `wgpu-rmsnorm`.
const FILE: &str = "cli/assets/activations.safetensors";

/// One norm of the model, in f32.
pub struct Layer {
    pub name: String,
    /// Rows (one a token) and channels.
    pub shape: [usize; 2],
    pub input: Vec<f32>,
    pub weight: Vec<f32>,
}

pub struct Recording {
    pub eps: f32,
    pub prompt: String,
    /// In the order in which the model runs them.
    pub layers: Vec<Layer>,
}

pub fn read() -> Result<Recording, Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let file = std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let tensors = SafeTensors::deserialize(&file)?;
    let (_, header) = SafeTensors::read_metadata(&file)?;
    let metadata = header.metadata().as_ref().ok_or("the recording has no metadata")?;
    let text = |key: &str| metadata.get(key).cloned().ok_or(format!("the recording has no {key}"));
    let mut names: Vec<&str> = tensors.names().into_iter().filter_map(|name| name.strip_suffix(".input")).collect();
    // By name a layer's input norm comes first, as it does in the model; the model's own norm comes last of all.
    names.sort_by_key(|&name| (name == "model.norm", name));
    let layer = |name: &str| -> Result<Layer, Box<dyn Error>> {
        let values = |kind: &str| -> Result<Vec<f32>, Box<dyn Error>> {
            let tensor = tensors.tensor(&format!("{name}.{kind}"))?;
            Ok(Values::from_bytes(DType::F32, tensor.data()).into_vec()?)
        };
        let shape = tensors.tensor(&format!("{name}.input"))?.shape().to_vec();
        let shape = shape.try_into().map_err(|_| "the recording is not of rows")?;
        Ok(Layer { name: name.to_owned(), shape, input: values("input")?, weight: values("weight")? })
    };
    let layers = names.into_iter().map(layer).collect::<Result<_, _>>()?;
    Ok(Recording { eps: text("eps")?.parse()?, prompt: text("prompt")?, layers })
}
