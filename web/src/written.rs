//! Whether what was timed did its work: a kernel that writes nothing is the fastest of all.

use wgpu_rmsnorm::{Gpu, wgpu};

use crate::error::{Refused, Result};

/// Bytes that are read back in one piece.
const PIECE: u64 = 1 << 22;

/// Refuses a buffer in which elements of so many bytes, of the first `bytes`, are still filled with `sentinel`.
pub async fn check(gpu: &Gpu, what: &str, buffer: &wgpu::Buffer, bytes: u64, size: u64, sentinel: u8) -> Result<()> {
    let mut left = 0;
    for start in (0..bytes).step_by(PIECE as usize) {
        let piece = gpu.read(buffer, start..bytes.min(start + PIECE)).await?;
        left += piece.chunks_exact(size as usize).filter(|element| element.iter().all(|byte| *byte == sentinel)).count();
    }
    if left == 0 {
        return Ok(());
    }
    let actual = format!("{left} of {} elements that nobody wrote", bytes / size);
    let remedy = "this is a bug in the library or the driver, please report it";
    Err(Refused::Result.because(what, "every element written", &actual, remedy))
}
