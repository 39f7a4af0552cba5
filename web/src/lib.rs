//! What the package `wgpu-rmsnorm` for browsers calls: the library behind an interface of JavaScript's own types. The package's
//! `index.js` and `verify.js` give it its names, and `index.d.ts` and `verify.d.ts` describe it.

#![cfg(target_arch = "wasm32")]
#![allow(missing_debug_implementations, reason = "JavaScript sees these types, and has no use for it")]

mod error;
mod fields;
mod gpu;
mod panics;
#[cfg(feature = "verify")]
mod verify;

#[cfg(feature = "norms")]
mod clock;
#[cfg(feature = "norms")]
mod copies;
#[cfg(feature = "norms")]
#[allow(dead_code, reason = "browsers have no 64-bit words, whose kernels the program has besides")]
#[path = "../../cli/src/bench/copy_kernels.rs"]
mod copy_kernels;
#[cfg(feature = "norms")]
mod norm;
#[cfg(feature = "norms")]
mod spec;
#[cfg(feature = "norms")]
mod tensor;
#[cfg(feature = "norms")]
mod timing;
#[cfg(feature = "norms")]
mod written;
