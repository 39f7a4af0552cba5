//! The recorded activations: input, weight and output of every RMSNorm of a small Llama, for one prompt.

use std::error::Error;

use safetensors::SafeTensors;
use wgpu_rmsnorm::{DType, Values};

use crate::failure::Failure;

static FILE: &[u8] = include_bytes!("../assets/activations.safetensors");

/// One RMSNorm of the model, as Transformers' `LlamaRMSNorm` computed it in f32.
#[derive(Debug)]
pub struct Layer {
    /// Its name in the checkpoint.
    pub name: String,
    /// Rows and channels.
    pub shape: [u64; 2],
    /// What went in.
    pub input: Vec<f64>,
    /// Its weight.
    pub weight: Vec<f64>,
    /// What came out.
    pub output: Vec<f64>,
}

/// The recording.
#[derive(Debug)]
pub struct Recording {
    /// The model's eps.
    pub eps: f32,
    /// The prompt that was recorded.
    pub prompt: String,
    /// Every RMSNorm, in the order in which the model runs them.
    pub layers: Vec<Layer>,
}

/// Reads the recording that is part of the program.
pub fn read() -> Result<Recording, Failure> {
    parse().map_err(|e| Failure::new(format_args!("the recording in this program is damaged: {e}"), "build it again"))
}

fn parse() -> Result<Recording, Box<dyn Error>> {
    let tensors = SafeTensors::deserialize(FILE)?;
    let (_, header) = SafeTensors::read_metadata(FILE)?;
    let metadata = header.metadata().clone().ok_or("the recording has no metadata")?;
    let text = |key: &str| metadata.get(key).cloned().ok_or(format!("the recording has no {key}"));
    let values = |name: String| -> Result<Vec<f64>, Box<dyn Error>> {
        Ok(Values::from_bytes(DType::F32, tensors.tensor(&name)?.data()).as_slice().widen())
    };
    let mut names: Vec<String> = tensors.names().iter().filter_map(|n| n.strip_suffix(".input").map(str::to_owned)).collect();
    // Within a layer the input norm comes first, which is their order by name; the final norm comes last of all.
    names.sort_by_key(|name| (name == "model.norm", name.clone()));
    let layer = |name: String| -> Result<Layer, Box<dyn Error>> {
        let input = format!("{name}.input");
        let shape: Vec<u64> = tensors.tensor(&input)?.shape().iter().map(|&n| n as u64).collect();
        Ok(Layer {
            shape: shape.try_into().map_err(|_| "the recording is not of rows")?,
            input: values(input)?,
            weight: values(format!("{name}.weight"))?,
            output: values(format!("{name}.output"))?,
            name,
        })
    };
    Ok(Recording {
        eps: text("eps")?.parse()?,
        prompt: text("prompt")?,
        layers: names.into_iter().map(layer).collect::<Result<_, _>>()?,
    })
}
