#![no_main]

//! Any words, one a line, behind the program's name.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = wgpu_rmsnorm_cli::hostile::arguments(text.split('\n').map(Into::into));
});
