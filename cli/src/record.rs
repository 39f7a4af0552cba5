//! Tuning records in files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use wgpu_rmsnorm::{Gpu, Tuning};

use crate::failure::Failure;
use crate::output::note;

/// No record is longer: what is behind does not have to be read to be refused.
const MOST_BYTES: u64 = (1 << 20) + 1;

/// Reads a record.
pub fn read(file: &Path) -> Result<Tuning, Failure> {
    let mut bytes = Vec::new();
    File::open(file)
        .and_then(|open| open.take(MOST_BYTES).read_to_end(&mut bytes))
        .map_err(|error| Failure::file(file, format_args!("cannot be read: {error}"), "make one: wgpu-rmsnorm tune"))?;
    Tuning::from_bytes(&bytes).map_err(|error| in_file(file, &error))
}

fn in_file(file: &Path, error: &wgpu_rmsnorm::Error) -> Failure {
    Failure::from_library(format_args!("{}: {error}", file.display()))
}

/// The device planned by a record, or, where the record does not serve, as it is: a note says why.
pub fn tuned(gpu: Gpu, file: Option<&Path>) -> Gpu {
    let Some(file) = file else { return gpu };
    let with = |tuning| gpu.with_tuning(tuning).map_err(|error| in_file(file, &error));
    match read(file).and_then(with) {
        Ok(tuned) => {
            if tuned.tuning().is_some_and(Tuning::changes_bits) {
                note(format_args!("{}: it sets the order of sums: results differ in the last place", file.display()));
            }
            tuned
        }
        Err(failure) => {
            note(format_args!("the tuning record is ignored: {failure}"));
            gpu
        }
    }
}

/// The record that a file has of this device, to be added to; an empty one where there is no file. What is something else is
/// replaced only where `force` says so.
pub fn to_extend(file: &Path, gpu: &Gpu, force: bool) -> Result<Tuning, Failure> {
    let empty = Tuning::new(gpu.origin());
    if !file.exists() {
        return Ok(empty);
    }
    let here = |tuning: Tuning| tuning.check(&gpu.origin()).map(|()| tuning).map_err(|error| in_file(file, &error));
    match read(file).and_then(here) {
        Err(_) if force => Ok(empty),
        Err(failure) => Err(Failure::new(failure, "or replace the file with --force")),
        tuning => tuning,
    }
}
