//! Files that appear when they are whole.

use std::fs::{self, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::Failure;

/// A file on its way: it lies beside its target under another name until [`WholeFile::commit`], and is removed if that never
/// comes, unless the program is killed.
#[derive(Debug)]
pub struct WholeFile {
    writer: BufWriter<NamedTempFile>,
    target: PathBuf,
    /// The permissions of the file that is replaced; none where nothing is.
    replaces: Option<Permissions>,
}

impl WholeFile {
    /// Begins a file. One that exists is replaced only where `force` says so.
    pub fn create(file: &Path, force: bool) -> Result<Self, Failure> {
        let (target, replaces) = match fs::metadata(file) {
            Err(_) if file.is_symlink() => return Err(Failure::file(file, "is a link to nothing", "choose another file")),
            Err(_) => (file.to_owned(), None),
            Ok(found) if !found.is_file() => return Err(Failure::file(file, "is not a file", "choose another name")),
            Ok(_) if !force => return Err(exists(file)),
            // What a link points to, so that the link stays.
            Ok(found) => (fs::canonicalize(file).map_err(|e| cannot(file, &e))?, Some(found.permissions())),
        };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".wgpu-rmsnorm-").suffix(".partial");
        // Temporary files are for their owner alone, results for whom the user's umask lets read them.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder_of(&target)).map_err(|e| {
            let remedy = "choose a folder that exists and that you may write to";
            Failure::file(&target, format_args!("cannot be written: {}", e.kind()), remedy)
        })?;
        Ok(Self { writer: BufWriter::with_capacity(1 << 20, file), target, replaces })
    }

    /// The file that is written in the end.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Appends bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.writer.write_all(bytes).map_err(|e| cannot(&self.target, &e))
    }

    /// Gives the file its name, when its contents are safe.
    pub fn commit(self) -> Result<(), Failure> {
        let Self { writer, target, replaces } = self;
        let file = writer.into_inner().map_err(|e| cannot(&target, e.error()))?;
        file.as_file().sync_all().map_err(|e| cannot(&target, &e))?;
        match replaces {
            Some(permissions) => {
                file.as_file().set_permissions(permissions).map_err(|e| cannot(&target, &e))?;
                file.persist(&target).map(drop).map_err(|e| cannot(&target, &e.error))
            }
            None => file.persist_noclobber(&target).map(drop).map_err(|e| match e.error.kind() {
                ErrorKind::AlreadyExists => exists(&target),
                _ => cannot(&target, &e.error),
            }),
        }
    }
}

fn cannot(target: &Path, error: &io::Error) -> Failure {
    Failure::file(target, format_args!("cannot be written: {error}"), "make room, or choose another folder")
}

fn exists(target: &Path) -> Failure {
    Failure::file(target, "exists already", "choose another file, or replace it with --force")
}

/// Whether two names are of one file, which need not exist.
pub fn is_same(a: &Path, b: &Path) -> bool {
    let whole = |path: &Path| {
        let of_folder = || Some(fs::canonicalize(folder_of(path)).ok()?.join(path.file_name()?));
        fs::canonicalize(path).ok().or_else(of_folder).unwrap_or_else(|| path.to_owned())
    };
    whole(a) == whole(b)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
