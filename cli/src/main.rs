//! `wgpu-rmsnorm`: RMSNorm on any GPU, shown, listed and checked.

mod activations;
mod demo;
mod devices;
mod output;
mod table;
mod verify;

use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use wgpu_rmsnorm::{Adapter, Gpu};

/// RMSNorm on any GPU: shown on a real model's activations, listed, checked.
#[derive(Debug, Parser)]
#[command(name = "wgpu-rmsnorm", version)]
struct Arguments {
    #[command(flatten)]
    choice: Choice,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Normalise the recorded activations of a small Llama and compare (the default)
    Demo,
    /// List every adapter, what it offers, and what the planner would do there
    Devices(devices::Options),
    /// Run the case list on every adapter; exit 1 on a failure, 2 without an adapter
    Verify(verify::Options),
}

/// Which adapters count.
#[derive(Debug, Clone, Args)]
struct Choice {
    /// Only adapters whose name, driver or backend contains this
    #[arg(long, value_name = "TEXT", global = true)]
    adapter: Option<String>,
    /// Count OpenGL adapters too (needs a build with `--features gles`)
    #[arg(long, global = true)]
    gl: bool,
}

impl Choice {
    /// The adapters of this choice, the best first; none where the system has none.
    fn adapters(&self) -> Result<Vec<Adapter>, Failure> {
        if self.gl && !cfg!(feature = "gles") {
            return Err("--gl needs a build with OpenGL: cargo run --release --features gles".into());
        }
        let found = pollster::block_on(wgpu_rmsnorm::adapters(self.gl));
        let Some(text) = &self.adapter else { return Ok(found) };
        let (chosen, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|adapter| adapter.matches(text));
        if chosen.is_empty() && !others.is_empty() {
            let names: Vec<_> = others.iter().map(ToString::to_string).collect();
            return Err(format!("no adapter matches {text:?}; there are: {}", names.join(", ")).into());
        }
        Ok(chosen)
    }
}

/// Says that there is no adapter, and what brings one.
fn no_adapter() -> String {
    match pollster::block_on(Gpu::new()) {
        Err(error) => error.to_string(),
        Ok(gpu) => format!("an adapter came up only now: {gpu}"),
    }
}

/// An error on its way to standard error.
type Failure = Box<dyn std::error::Error>;

/// The exit code where the work could not be done as it was asked for, as sysexits.h has it: 1 and 2 are verdicts.
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
    let done = arguments.choice.adapters().and_then(|adapters| match arguments.command.unwrap_or(Command::Demo) {
        Command::Demo => demo::run(&adapters),
        Command::Devices(options) => devices::run(&options, &adapters),
        Command::Verify(options) => verify::run(&options, &adapters),
    });
    done.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(USAGE)
    })
}
