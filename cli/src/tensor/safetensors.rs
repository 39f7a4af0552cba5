//! The header of a `.safetensors` file. The elements behind it are read and written as bytes.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use safetensors::tensor::{Dtype, Metadata, TensorInfo};
use wgpu_rmsnorm::{DType, Values};

use super::Stored;
use crate::failure::Failure;

/// As the format's own library has it.
const MOST_HEADER: u64 = 100_000_000;
/// Names that an error message lists.
const MOST_NAMES: usize = 8;

const GET_AGAIN: &str = "download or save it again";

/// A file and what its header says.
#[derive(Debug)]
pub struct Index {
    path: PathBuf,
    file: File,
    metadata: Metadata,
    /// Where the elements begin.
    start: u64,
}

/// One tensor of a file.
#[derive(Debug)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// What its elements are, or the name of a type that kernels do not read.
    pub stored: Result<Stored, String>,
    /// Its dimensions.
    pub shape: Vec<u64>,
    /// Where its elements begin, from the start of the file.
    pub start: u64,
}

impl Index {
    /// Reads a file's header. The file must be exactly as long as its header says.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let broken = |problem: String| Failure::file(path, format_args!("is not a .safetensors file: {problem}"), GET_AGAIN);
        let (mut file, size) = super::open(path)?;
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(|_| broken(format!("{size} bytes are too few")))?;
        let length = u64::from_le_bytes(length);
        if length > MOST_HEADER || size.checked_sub(8).is_none_or(|behind| length > behind) {
            return Err(broken(format!("its header is said to be {length} bytes long, in a file of {size}")));
        }
        let mut header = vec![0; length as usize];
        file.read_exact(&mut header).map_err(|e| broken(e.to_string()))?;
        let metadata: Metadata = serde_json::from_slice(&header).map_err(|e| broken(e.to_string()))?;
        let (start, data) = (8 + length, metadata.data_len() as u64);
        if start.checked_add(data) != Some(size) {
            return Err(broken(format!(
                "{data} bytes of tensors should follow the header, and {} do",
                size.saturating_sub(start)
            )));
        }
        Ok(Self { path: path.to_owned(), file, metadata, start })
    }

    /// The names of the tensors, in the order in which they lie.
    pub fn names(&self) -> Vec<String> {
        self.metadata.offset_keys()
    }

    /// The tensor of this name; the only one, where none is named.
    pub fn entry(&self, name: Option<&str>) -> Result<Entry, Failure> {
        let name = match name {
            Some(name) => name.to_owned(),
            None => self.only_name()?,
        };
        let Some(info) = self.metadata.info(&name) else {
            return Err(Failure::file(&self.path, format_args!("has no tensor \"{}\"", shown(&name)), self.name_one()));
        };
        let stored = match info.dtype {
            Dtype::F32 => Ok(Stored::Typed(DType::F32)),
            Dtype::F16 => Ok(Stored::Typed(DType::F16)),
            Dtype::BF16 => Ok(Stored::Typed(DType::BF16)),
            Dtype::F64 => Ok(Stored::F64),
            other => Err(format!("{other:?}")),
        };
        Ok(Entry {
            name,
            stored,
            shape: info.shape.iter().map(|&n| n as u64).collect(),
            start: self.start + info.data_offsets.0 as u64,
        })
    }

    fn only_name(&self) -> Result<String, Failure> {
        match self.names().as_slice() {
            [only] => Ok(only.clone()),
            names => {
                Err(Failure::file(&self.path, format_args!("has {} tensors, and none is named", names.len()), self.name_one()))
            }
        }
    }

    fn name_one(&self) -> String {
        let names = self.names();
        let more = if names.len() > MOST_NAMES { ", ..." } else { "" };
        let listed = names.iter().take(MOST_NAMES).map(|name| shown(name)).collect::<Vec<_>>().join(", ");
        format!("name one of them after a colon ({}:TENSOR): {listed}{more}", self.path.display())
    }

    /// The file, to read elements from.
    pub fn into_file(self) -> File {
        self.file
    }

    /// All values of a tensor that kernels can read.
    pub fn read(&mut self, entry: &Entry, dtype: DType, elements: u64) -> Result<Values, Failure> {
        let mut bytes = vec![0; (elements * dtype.size()) as usize];
        let read = self.file.seek(SeekFrom::Start(entry.start)).and_then(|_| self.file.read_exact(&mut bytes));
        read.map_err(|e| Failure::file(&self.path, format_args!("cannot be read: {e}"), GET_AGAIN))?;
        Ok(Values::from_bytes(dtype, &bytes))
    }
}

/// What the format keeps for itself among the names.
const RESERVED: &str = "__metadata__";
/// Characters of a name that an error message shows.
const MOST_CHARACTERS: usize = 80;

/// A name as a message shows it: on one line, and not longer than that.
fn shown(name: &str) -> String {
    name.chars().take(MOST_CHARACTERS).flat_map(char::escape_debug).collect()
}

/// The header of a file with one tensor.
pub fn header(name: &str, dtype: DType, shape: &[u64]) -> Result<Vec<u8>, Failure> {
    let cannot = |problem: String| Failure::new(format!("the header cannot be written: {problem}"), "write a .npy file");
    if name == RESERVED {
        return Err(Failure::new(format_args!("no tensor can be named {RESERVED}"), "choose another name"));
    }
    let size = super::elements(shape).and_then(|n| n.checked_mul(dtype.size())).unwrap_or(u64::MAX);
    let info = TensorInfo {
        dtype: match dtype {
            DType::F16 => Dtype::F16,
            DType::BF16 => Dtype::BF16,
            DType::I8 => Dtype::I8,
            DType::F8E4M3 => Dtype::F8_E4M3,
            _ => Dtype::F32,
        },
        shape: shape.iter().map(|&n| n as usize).collect(),
        data_offsets: (0, size as usize),
    };
    let metadata =
        Metadata::new(None::<HashMap<String, String>>, vec![(name.to_owned(), info)]).map_err(|e| cannot(e.to_string()))?;
    let mut text = serde_json::to_vec(&metadata).map_err(|e| cannot(e.to_string()))?;
    text.resize(text.len().next_multiple_of(8), b' ');
    let mut bytes = (text.len() as u64).to_le_bytes().to_vec();
    bytes.extend(text);
    Ok(bytes)
}
