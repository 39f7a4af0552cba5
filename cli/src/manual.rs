//! Shell completions and manual pages, from the same definitions as `--help`.

use std::process::ExitCode;

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::output::raw;

const NAME: &str = "wgpu-rmsnorm";

/// Options of `completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

/// Options of `man`.
#[derive(Debug, Args)]
pub struct Man {
    /// The subcommand whose page it is; the program's own without one
    subcommand: Option<String>,
}

/// Prints a completion script: `wgpu-rmsnorm completions bash > ~/.local/share/bash-completion/completions/wgpu-rmsnorm`.
pub fn completions(options: &Completions) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut crate::Arguments::command(), NAME, &mut script);
    raw(&script);
    Ok(ExitCode::SUCCESS)
}

/// Prints a manual page: `wgpu-rmsnorm man | man -l -`.
pub fn man(options: &Man) -> Result<ExitCode, Failure> {
    let mut program = crate::Arguments::command();
    program.build();
    let command = match &options.subcommand {
        None => program,
        Some(name) => page_of(&program, name)?,
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|e| Failure::new(format_args!("the manual page cannot be written: {e}"), "please report this"))?;
    raw(&page);
    Ok(ExitCode::SUCCESS)
}

fn page_of(program: &Command, name: &str) -> Result<Command, Failure> {
    let names = || program.get_subcommands().map(Command::get_name).collect::<Vec<_>>().join(", ");
    let command = program.find_subcommand(name).ok_or_else(|| {
        Failure::new(format_args!("man: there is no subcommand {name:?}"), format_args!("there are: {}", names()))
    })?;
    Ok(command.clone())
}
