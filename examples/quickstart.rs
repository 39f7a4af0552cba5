//! The ten lines that matter: slices in, a `Vec` out.
//!
//! ```sh
//! cargo run --release --example quickstart
//! ```

use wgpu_rmsnorm::{Gpu, Inputs, NormSpec, Result};

fn main() -> Result<()> {
    // The best adapter of this machine: Vulkan, Metal, DX12 or WebGPU, software where there is nothing else.
    let gpu = Gpu::new_blocking()?;

    // What is computed: rows of 4 channels, eps inside the root, one rounding, as PyTorch does it.
    let norm = gpu.norm(NormSpec::torch(4, 1e-6))?;

    // Two rows, and a weight for each channel.
    let x = [1.0f32, 2.0, 3.0, 4.0, -5.0, 5.0, -5.0, 5.0];
    let weight = [1.0f32, 1.0, 1.0, 2.0];
    let y: Vec<f32> = norm.run_blocking(&Inputs::new(&x).weight(&weight))?;

    println!("{}", gpu.info().name);
    for (x, y) in x.chunks(4).zip(y.chunks(4)) {
        println!("{x:?} -> {y:?}");
    }
    Ok(())
}
