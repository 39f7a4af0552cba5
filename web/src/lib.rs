//! What the package `wgpu-rmsnorm` for browsers calls: the library behind an interface of JavaScript's own types. The package's
//! `index.js` gives it its names, and `index.d.ts` describes it.

#![cfg(target_arch = "wasm32")]
#![allow(missing_debug_implementations, reason = "JavaScript sees these types, and has no use for it")]

mod clock;
mod copies;
#[allow(dead_code, reason = "browsers have no 64-bit words, whose kernels the program has besides")]
#[path = "../../cli/src/bench/copy_kernels.rs"]
mod copy_kernels;
mod error;
mod fields;
mod gpu;
mod norm;
mod spec;
mod tensor;
mod timing;
mod verify;
