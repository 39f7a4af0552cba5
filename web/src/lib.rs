//! What the package `wgpu-rmsnorm` for browsers calls: the library behind an interface of JavaScript's own types. The package's
//! `index.js` and `lab.js` give it its names, and `index.d.ts` and `lab.d.ts` describe it.

#![cfg(target_arch = "wasm32")]
#![allow(missing_debug_implementations, reason = "JavaScript sees these types, and has no use for it")]

mod error;
mod fields;
mod gpu;
mod panics;
mod spec;

#[cfg(feature = "norms")]
mod norm;
#[cfg(feature = "norms")]
mod tensor;

#[cfg(feature = "lab")]
mod clock;
#[cfg(feature = "lab")]
mod copies;
#[cfg(feature = "lab")]
#[allow(dead_code, reason = "browsers have no 64-bit words, whose kernels the program has besides")]
#[path = "../../cli/src/bench/copy_kernels.rs"]
mod copy_kernels;
#[cfg(feature = "lab")]
mod timing;
#[cfg(feature = "lab")]
mod verify;
#[cfg(feature = "lab")]
mod written;
