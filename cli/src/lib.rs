//! `wgpu-rmsnorm`: RMSNorm and its family on any GPU: shown, applied to files, checked, explained.
//!
//! A program rather than a library: [`run`] is all of it, and [`hostile`] its readers of what nobody vouches for, by themselves, for those who
//! try to break them.

mod activations;
mod apply;
mod bench;
mod check_model;
mod checkpoint;
mod choice;
mod config;
mod definition;
mod demo;
mod devices;
mod explain;
mod failure;
mod families;
mod forced;
pub mod hostile;
mod junit;
mod manual;
mod operands;
mod outcome;
mod output;
mod progress;
mod record;
mod table;
mod tensor;
mod timing;
mod tune;
mod verify;
mod whole_file;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use choice::Choice;
use failure::{Failure, USAGE};
use output::Json;

/// RMSNorm and its family (LayerNorm, residuals, gates, heads, codes, shards) on any GPU: shown on a real model's activations,
/// applied to your files, checked, explained.
#[derive(Debug, Parser)]
#[command(
    name = "wgpu-rmsnorm",
    version,
    max_term_width = 100,
    after_help = "Exit codes:\n  \
        0   done, and everything that was checked is right\n  \
        1   a check failed: a result is wrong, or a device that was to be verified gave none\n  \
        2   there is no GPU adapter\n  \
        64  not done: arguments that make no sense, or a file or a device that cannot be used"
)]
struct Arguments {
    #[command(flatten)]
    context: Context,
    #[command(subcommand)]
    command: Option<Command>,
}

/// What every subcommand takes.
#[derive(Debug, Args)]
struct Context {
    #[command(flatten)]
    choice: Choice,
    #[command(flatten)]
    json: Json,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Normalise the recorded activations of a small Llama and compare (the default)
    Demo,
    /// List every adapter, what it offers, and what the planner would do there
    Devices,
    /// Run the case list on every adapter: does this GPU, or this driver, compute correctly?
    Verify(verify::Options),
    /// Normalise the rows of a .npy or .safetensors file
    Apply(Box<apply::Options>),
    /// Run every RMSNorm of a checkpoint with its own weights on the GPU, and compare
    CheckModel(check_model::Options),
    /// Time norms beside copies of the same bytes on the same adapter
    Bench(bench::Options),
    /// Measure which plans are best on this device, and keep them for --tuning
    Tune(tune::Options),
    /// Show how a norm would be computed: the plan, the shader, and all that another host needs
    Explain(explain::Options),
    /// Print a shell's completion script
    Completions(manual::Completions),
    /// Print a manual page
    Man(manual::Man),
}

/// Does what the words after the program's name ask for, and complains on standard error where it cannot.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(message) => {
            // Help and version come this way too, and are no error. A closed pipe is nobody's business here.
            let _ = message.print();
            return if message.use_stderr() { ExitCode::from(USAGE) } else { ExitCode::SUCCESS };
        }
    };
    let done = dispatch(arguments).and_then(|code| output::finish().map(|()| code));
    done.unwrap_or_else(|failure| {
        output::complain(&failure);
        failure.code()
    })
}

fn dispatch(arguments: Arguments) -> Result<ExitCode, Failure> {
    let context = &arguments.context;
    match arguments.command.unwrap_or(Command::Demo) {
        Command::Demo => demo::run(context),
        Command::Devices => devices::run(context),
        Command::Verify(options) => verify::run(&options, context),
        Command::Apply(options) => apply::run(&options, context),
        Command::CheckModel(options) => check_model::run(&options, context),
        Command::Bench(options) => bench::run(&options, context),
        Command::Tune(options) => tune::run(&options, context),
        Command::Explain(options) => explain::run(&options, context),
        Command::Completions(options) => manual::completions(&options),
        Command::Man(options) => manual::man(&options),
    }
}
