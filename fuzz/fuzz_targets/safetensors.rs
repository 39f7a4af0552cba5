#![no_main]

//! Any bytes as a `.safetensors` file.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = wgpu_rmsnorm_cli::hostile::safetensors(bytes);
});
