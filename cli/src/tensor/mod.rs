//! Tensors in files: `.npy` and `.safetensors`, read and written a few rows at a time.

mod literal;
mod location;
mod npy;
pub mod safetensors;
mod sink;
mod source;

pub use location::{Format, Location};
pub use sink::Sink;
pub use source::Source;

use std::fs::File;
use std::path::Path;

use wgpu_rmsnorm::DType;

use crate::failure::Failure;

/// What the elements of a file are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stored {
    /// Of a dtype that kernels read.
    Typed(DType),
    /// binary64, which is rounded on the way in.
    F64,
    /// 16 bits that the file gives no meaning: bfloat16, if somebody says so.
    Bits16,
}

impl Stored {
    /// Bytes an element.
    pub fn size(self) -> u64 {
        match self {
            Stored::Typed(dtype) => dtype.size(),
            Stored::F64 => 8,
            Stored::Bits16 => 2,
        }
    }
}

/// Opens a file for reading and returns its size. Folders, pipes and devices are refused: their size is not known, and opening a
/// pipe would wait for somebody to write into it.
pub fn open(path: &Path) -> Result<(File, u64), Failure> {
    let cannot = |e| Failure::file(path, format_args!("cannot be read: {e}"), "check its name and its permissions");
    if !std::fs::metadata(path).map_err(cannot)?.is_file() {
        return Err(Failure::file(path, "is not a file", "pass a file"));
    }
    let file = File::open(path).map_err(cannot)?;
    let size = file.metadata().map_err(cannot)?.len();
    Ok((file, size))
}

/// Elements of a shape, `None` beyond 64 bits.
pub fn elements(shape: &[u64]) -> Option<u64> {
    shape.iter().try_fold(1u64, |product, &n| product.checked_mul(n))
}
