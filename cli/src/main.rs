//! The wgpu-rmsnorm program.
fn main() {}
