//! A tensor that is written a few rows at a time, and appears when it is whole.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;
use wgpu_rmsnorm::DType;

use super::{Format, Location, npy, safetensors};
use crate::failure::Failure;

/// A file on its way: it lies beside its target under another name until [`Sink::commit`], and is removed if that never comes.
#[derive(Debug)]
pub struct Sink {
    writer: BufWriter<NamedTempFile>,
    target: PathBuf,
    replace: bool,
}

impl Sink {
    /// Begins a file with one tensor, named `name` where the location names none and the format has names.
    pub fn create(location: &Location, name: &str, dtype: DType, shape: &[u64], replace: bool) -> Result<Self, Failure> {
        let target = check_target(&location.file, replace)?;
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        let header = match location.format {
            Format::Npy => npy::header(dtype, shape)?,
            Format::Safetensors => safetensors::header(location.tensor.as_deref().unwrap_or(name), dtype, shape)?,
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".wgpu-rmsnorm-").suffix(".partial");
        // Temporary files are for their owner alone, results for whom the user's umask lets read them.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder).map_err(|e| {
            Failure::file(
                &target,
                format_args!("cannot be written: {e}"),
                "choose a folder that exists and that you may write to",
            )
        })?;
        let mut sink = Self { writer: BufWriter::with_capacity(1 << 20, file), target, replace };
        sink.write(&header)?;
        Ok(sink)
    }

    /// Appends elements.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.writer.write_all(bytes).map_err(|e| cannot(&self.target, &e))
    }

    /// Gives the file its name.
    pub fn commit(self) -> Result<(), Failure> {
        let file = self.writer.into_inner().map_err(|e| cannot(&self.target, e.error()))?;
        if self.replace {
            file.persist(&self.target).map(drop).map_err(|e| cannot(&self.target, &e.error))
        } else {
            file.persist_noclobber(&self.target).map(drop).map_err(|e| match e.error.kind() {
                std::io::ErrorKind::AlreadyExists => exists(&self.target),
                _ => cannot(&self.target, &e.error),
            })
        }
    }
}

fn cannot(target: &Path, error: &std::io::Error) -> Failure {
    Failure::file(target, format_args!("cannot be written: {error}"), "make room, or choose another folder")
}

fn exists(target: &Path) -> Failure {
    Failure::file(target, "exists already", "choose another file, or replace it with --force")
}

/// The file that is to be written: what a link points to, so that the link stays.
fn check_target(file: &Path, replace: bool) -> Result<PathBuf, Failure> {
    match std::fs::metadata(file) {
        Err(_) if file.is_symlink() => Err(Failure::file(file, "is a link to nothing", "choose another file")),
        Err(_) => Ok(file.to_owned()),
        Ok(found) if !found.is_file() => Err(Failure::file(file, "is not a file", "choose another name")),
        Ok(_) if !replace => Err(exists(file)),
        Ok(_) => std::fs::canonicalize(file).map_err(|e| cannot(file, &e)),
    }
}
