//! A tensor that is written a few rows at a time, into a file of its own.

use std::path::Path;

use wgpu_rmsnorm::DType;

use super::safetensors::Index;
use super::{Format, Location, npy, safetensors};
use crate::failure::Failure;
use crate::whole_file::WholeFile;

/// A file with one tensor, on its way.
#[derive(Debug)]
pub struct Sink {
    file: WholeFile,
}

impl Sink {
    /// Begins a file; the tensor is named `name` where the location names none and the format has names.
    pub fn create(location: &Location, name: &str, dtype: DType, shape: &[u64], force: bool) -> Result<Self, Failure> {
        let name = location.tensor.as_deref().unwrap_or(name);
        let header = match location.format {
            Format::Npy => npy::header(dtype, shape)?,
            Format::Safetensors => safetensors::header(name, dtype, shape)?,
        };
        if location.format == Format::Safetensors && location.file.exists() {
            holds_no_other(&location.file, name)?;
        }
        let mut file = WholeFile::create(&location.file, force)?;
        file.write(&header)?;
        Ok(Self { file })
    }

    /// Appends elements.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.file.write(bytes)
    }

    /// Gives the file its name.
    pub fn commit(self) -> Result<(), Failure> {
        self.file.commit()
    }
}

/// `FILE:TENSOR` could be taken to mean that one tensor of a checkpoint is replaced: all others would be lost.
fn holds_no_other(file: &Path, name: &str) -> Result<(), Failure> {
    let Ok(index) = Index::open(file) else { return Ok(()) };
    match index.names().iter().filter(|other| *other != name).count() {
        0 => Ok(()),
        others => {
            let problem = format!("holds {others} other tensors, and the file that is written holds one");
            Err(Failure::file(file, problem, "choose another file"))
        }
    }
}
