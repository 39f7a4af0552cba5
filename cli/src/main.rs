//! `wgpu-rmsnorm`: RMSNorm on any GPU, shown, listed and checked.

mod activations;
mod demo;
mod devices;
mod output;
mod table;
mod verify;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

/// RMSNorm on any GPU: shown on a real model's activations, listed, checked.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    demo: demo::Options,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Normalise the recorded activations of a small Llama and compare (the default)
    Demo(demo::Options),
    /// List every adapter, what it offers, and what the planner would do there
    Devices(devices::Options),
    /// Run the case list on every adapter; exit 1 on a failure, 2 without an adapter
    Verify(verify::Options),
}

/// Which adapters count.
#[derive(Debug, Clone, Args)]
struct Choice {
    /// Only adapters whose name, driver or backend contains this
    #[arg(long, value_name = "TEXT")]
    adapter: Option<String>,
    /// Count OpenGL adapters too (a build with the feature gles)
    #[arg(long)]
    gl: bool,
}

impl Choice {
    /// The adapters of this choice, the best first.
    fn adapters(&self) -> Vec<wgpu_rmsnorm::Adapter> {
        let mut found = pollster::block_on(wgpu_rmsnorm::adapters(self.gl));
        if let Some(text) = &self.adapter {
            found.retain(|adapter| adapter.matches(text));
        }
        found
    }
}

/// An error on its way to standard error.
type Failure = Box<dyn std::error::Error>;

/// The exit code for arguments that make no sense, as sysexits.h has it: 1 and 2 mean something to `verify`.
const USAGE: u8 = 64;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(message) => {
            // Help and version come this way too, and are no error. A closed pipe is nobody's business here.
            let _ = message.print();
            return if message.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
        }
    };
    let done = match arguments.command.unwrap_or(Command::Demo(arguments.demo)) {
        Command::Demo(options) => demo::run(&options),
        Command::Devices(options) => devices::run(&options),
        Command::Verify(options) => verify::run(&options),
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::FAILURE
    })
}
