//! A model's checkpoint on disk: one file or several, and which of its tensors are the weights of RMSNorms.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use wgpu_rmsnorm::{DType, Values};

use crate::config::{ModelConfig, read_json};
use crate::failure::Failure;
use crate::families;
use crate::tensor::Stored;
use crate::tensor::safetensors::Index;

const INDEX: &str = "model.safetensors.index.json";
const SINGLE: &str = "model.safetensors";
/// Channels of a norm, far beyond any model's.
const MOST_CHANNELS: u64 = 1 << 22;

/// The weight of one RMSNorm.
#[derive(Debug)]
pub struct Weight {
    /// Its name in the checkpoint.
    pub name: String,
    /// Its values.
    pub values: Values,
}

/// The norms of a checkpoint.
#[derive(Debug)]
pub struct Norms {
    /// Every weight, in the order of the model's layers.
    pub weights: Vec<Weight>,
    /// Vectors with "norm" in their names that are not known to be weights of RMSNorms.
    pub others: Vec<String>,
}

/// A checkpoint: its configuration, and which file holds which tensors.
#[derive(Debug)]
pub struct Checkpoint {
    /// What `config.json` says.
    pub config: ModelConfig,
    shards: Vec<Shard>,
}

/// A file of a checkpoint.
#[derive(Debug)]
struct Shard {
    file: PathBuf,
    /// The tensors that the index says are in it; all of the file's where there is no index.
    names: Option<Vec<String>>,
}

impl Checkpoint {
    /// Finds the parts of a checkpoint: a folder, its `model.safetensors`, or the index of a sharded one. Its `config.json` may
    /// be missing where `without_config`.
    pub fn open(path: &Path, without_config: bool) -> Result<Self, Failure> {
        let (folder, file) = if path.is_dir() {
            let inside = [INDEX, SINGLE].map(|name| path.join(name)).into_iter().find(|file| file.is_file());
            let missing = || {
                let problem = format!("has neither {SINGLE} nor {INDEX}");
                Failure::file(path, problem, "pass the folder of a checkpoint, or its file")
            };
            (path.to_owned(), inside.ok_or_else(missing)?)
        } else {
            (path.parent().unwrap_or(Path::new("")).to_owned(), path.to_owned())
        };
        // What is not there, or is something else, is better said before its config.json is looked for.
        let readable = |file: &Path, remedy: &str| {
            fs::metadata(file).map(drop).map_err(|e| Failure::file(file, format_args!("cannot be read: {e}"), remedy))
        };
        readable(&file, "check its name")?;
        let shards = match file.extension().and_then(|extension| extension.to_str()) {
            Some("json") => shards(&file, &folder)?,
            Some("safetensors") => vec![Shard { file, names: None }],
            _ => {
                let remedy = "pass a folder, a .safetensors file or a .safetensors.index.json";
                return Err(Failure::file(&file, "is not a checkpoint", remedy));
            }
        };
        for shard in &shards {
            readable(&shard.file, "download the whole checkpoint")?;
        }
        let config = folder.join("config.json");
        let config = if without_config && !config.exists() { ModelConfig::absent(&config) } else { ModelConfig::read(&config)? };
        Ok(Self { config, shards })
    }

    /// Reads the weights that these patterns name.
    pub fn norms(&self, patterns: &[&str]) -> Result<Norms, Failure> {
        let mut weights = BTreeMap::new();
        let mut others = Vec::new();
        for Shard { file, names } in &self.shards {
            let mut index = Index::open(file)?;
            for name in names.clone().unwrap_or_else(|| index.names()) {
                if families::is_among(patterns, &name) {
                    let key = (in_order(&name), name.clone());
                    weights.insert(key, read(file, &mut index, name)?);
                } else if name.contains("norm") && index.entry(Some(&name))?.shape.len() == 1 {
                    others.push(name);
                }
            }
        }
        Ok(Norms { weights: weights.into_values().collect(), others })
    }
}

impl Norms {
    /// How many layers have norms here: the distinct numbers in their names.
    pub fn layers(&self) -> usize {
        let number = |weight: &Weight| weight.name.split('.').find_map(|part| part.parse::<u64>().ok());
        self.weights.iter().filter_map(number).collect::<BTreeSet<_>>().len()
    }

    /// The weights that hold a NaN or an infinity.
    pub fn not_finite(&self) -> Vec<&str> {
        let finite = |weight: &&Weight| weight.values.as_slice().widen().iter().all(|w| w.is_finite());
        self.weights.iter().filter(|weight| !finite(weight)).map(|weight| weight.name.as_str()).collect()
    }
}

fn read(shard: &Path, index: &mut Index, name: String) -> Result<Weight, Failure> {
    let entry = index.entry(Some(&name))?;
    let dtype = match entry.stored {
        Ok(Stored::Typed(dtype)) => dtype,
        Ok(_) => {
            return Err(Failure::file(shard, format_args!("{name} holds F64"), "convert the checkpoint to F32, F16 or BF16"));
        }
        Err(other) => {
            return Err(Failure::file(
                shard,
                format_args!("{name} holds {other}"),
                "pass a checkpoint whose norms are F32, F16 or BF16",
            ));
        }
    };
    let &[hidden] = entry.shape.as_slice() else {
        return Err(Failure::file(
            shard,
            format_args!("{name} has shape {:?}", entry.shape),
            "the weight of a norm has one dimension",
        ));
    };
    if hidden == 0 || hidden > MOST_CHANNELS {
        let problem = format!("{name} has {hidden} channels");
        return Err(Failure::file(shard, problem, format_args!("between 1 and {MOST_CHANNELS} are what a norm can have here")));
    }
    Ok(Weight { values: index.read(&entry, dtype, hidden)?, name })
}

/// The files of a sharded checkpoint, with the tensors that the index puts there.
fn shards(index: &Path, folder: &Path) -> Result<Vec<Shard>, Failure> {
    let remedy = "pass the model.safetensors.index.json of a sharded checkpoint";
    let wrong = |problem: String| Failure::file(index, problem, remedy);
    let json = read_json(index, remedy)?;
    let map = json.get("weight_map").and_then(|map| map.as_object()).ok_or_else(|| wrong("has no weight_map".into()))?;
    let mut files: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for (tensor, file) in map {
        let name = file.as_str().ok_or_else(|| wrong(format!("names {file} as a file")))?;
        // A downloaded index has no business outside its folder.
        let plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || name.is_empty() {
            return Err(wrong(format!("names {name:?} as a file, which is not inside its folder")));
        }
        files.entry(folder.join(name)).or_default().push(tensor.clone());
    }
    let shards: Vec<_> = files.into_iter().map(|(file, names)| Shard { file, names: Some(names) }).collect();
    if shards.is_empty() { Err(wrong("names no file".into())) } else { Ok(shards) }
}

/// A key that puts layer 2 before layer 10, and what has no number (the final norm) behind both.
fn in_order(name: &str) -> Vec<(u8, u64, String)> {
    name.split('.').map(|part| part.parse().map_or((1, 0, part.to_owned()), |number| (0, number, String::new()))).collect()
}

/// The dtype of the activations: what the configuration says, else that of the first weight.
pub fn activation_dtype(config: &ModelConfig, weights: &[Weight]) -> DType {
    config.dtype.or(weights.first().map(|weight| weight.values.as_slice().dtype())).unwrap_or(DType::F32)
}
