//! A model's checkpoint on disk: one file or several, and which of its tensors are the weights of RMSNorms.

use std::collections::BTreeMap;
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
    shards: Vec<PathBuf>,
}

impl Checkpoint {
    /// Finds the parts of a checkpoint: a folder, its `model.safetensors`, or the index of a sharded one.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let (folder, file) = if path.is_dir() {
            let inside = [INDEX, SINGLE].map(|name| path.join(name)).into_iter().find(|file| file.is_file());
            let missing = || {
                Failure::file(
                    path,
                    format_args!("has neither {SINGLE} nor {INDEX}"),
                    "pass the folder of a checkpoint, or its file",
                )
            };
            (path.to_owned(), inside.ok_or_else(missing)?)
        } else {
            (path.parent().unwrap_or(Path::new("")).to_owned(), path.to_owned())
        };
        // What is not there, or is something else, is better said before its config.json is looked for.
        fs::metadata(&file).map_err(|e| Failure::file(&file, format_args!("cannot be read: {e}"), "check its name"))?;
        let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
        if !["json", "safetensors"].contains(&extension) {
            return Err(Failure::file(
                &file,
                "is not a checkpoint",
                "pass a folder, a .safetensors file or a .safetensors.index.json",
            ));
        }
        let is_index = extension == "json";
        let shards = if is_index { shards(&file, &folder)? } else { vec![file] };
        // A checkpoint that is not there is better said first.
        for shard in &shards {
            fs::metadata(shard)
                .map_err(|e| Failure::file(shard, format_args!("cannot be read: {e}"), "download the whole checkpoint"))?;
        }
        Ok(Self { config: ModelConfig::read(&folder.join("config.json"))?, shards })
    }

    /// Reads the weights that these patterns name.
    pub fn norms(&self, patterns: &[&str]) -> Result<Norms, Failure> {
        let mut weights = BTreeMap::new();
        let mut others = Vec::new();
        for shard in &self.shards {
            let mut index = Index::open(shard)?;
            for name in index.names() {
                if families::is_among(patterns, &name) {
                    let key = (in_order(&name), name.clone());
                    let again = format!("holds {name} once more");
                    if weights.insert(key, read(shard, &mut index, name)?).is_some() {
                        return Err(Failure::file(shard, again, "pass a checkpoint whose files hold each tensor once"));
                    }
                } else if name.contains("norm") && index.entry(Some(&name))?.shape.len() == 1 {
                    others.push(name);
                }
            }
        }
        Ok(Norms { weights: weights.into_values().collect(), others })
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
    if hidden == 0 {
        return Err(Failure::file(shard, format_args!("{name} is empty"), "the weight of a norm has one value a channel"));
    }
    Ok(Weight { values: index.read(&entry, dtype, hidden)?, name })
}

/// The files of a sharded checkpoint, each once.
fn shards(index: &Path, folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let wrong = |problem: String| Failure::file(index, problem, "pass the model.safetensors.index.json of a sharded checkpoint");
    let json = read_json(index, "pass the model.safetensors.index.json of a sharded checkpoint")?;
    let map = json.get("weight_map").and_then(|map| map.as_object()).ok_or_else(|| wrong("has no weight_map".into()))?;
    let mut files = Vec::new();
    for file in map.values() {
        let name = file.as_str().ok_or_else(|| wrong(format!("names {file} as a file")))?;
        // A downloaded index has no business outside its folder.
        let plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || name.is_empty() {
            return Err(wrong(format!("names {name:?} as a file, which is not inside its folder")));
        }
        files.push(folder.join(name));
    }
    files.sort();
    files.dedup();
    if files.is_empty() { Err(wrong("names no file".into())) } else { Ok(files) }
}

/// A key that puts layer 2 before layer 10, and what has no number (the final norm) behind both.
fn in_order(name: &str) -> Vec<(u8, u64, String)> {
    name.split('.').map(|part| part.parse().map_or((1, 0, part.to_owned()), |number| (0, number, String::new()))).collect()
}

/// The dtype of the activations: what the configuration says, else that of the first weight.
pub fn activation_dtype(config: &ModelConfig, weights: &[Weight]) -> DType {
    config.dtype.or(weights.first().map(|weight| weight.values.as_slice().dtype())).unwrap_or(DType::F32)
}
