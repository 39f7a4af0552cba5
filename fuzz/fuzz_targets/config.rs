#![no_main]

//! Any bytes as a model's `config.json`.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(eps) = wgpu_rmsnorm_cli::hostile::model_config(bytes) {
        assert!(eps.is_finite() && eps >= 0.0, "{eps}");
    }
});
