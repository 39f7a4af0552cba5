//! The program: see the library of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    wgpu_rmsnorm_cli::run(std::env::args_os())
}
