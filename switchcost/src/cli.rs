//! The command line: one verb, one file of `verbs`.

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use crate::{console, signals};

use crate::verbs::{compare, fit, limits, memory, report, run, scale, shell, sweep};

/// What a thread and an async task cost on this machine: to switch to, to create, to keep in memory
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    run: run::Args,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run a plan and print its tables (what happens when no verb is named)
    Run(run::Args),
    /// Measure over a range of one flag, and say where the curves bend
    Sweep(sweep::Args),
    /// Measure what a task holds in memory, and say how many of them this machine could hold
    Memory(memory::Args),
    /// Build larger and larger chains, and say which limit stops each program
    Scale(scale::Args),
    /// Say what each limit of this system allows, which one binds first, and what raises it
    Limits(limits::Args),
    /// Print the tables of a file of records
    Report(report::Args),
    /// Say what has changed between files of records, and whether the noise allows to say so
    Compare(compare::Args),
    /// Fit a line to two columns of numbers, as the scripts do
    Fit(fit::Args),
    /// Print completions for a shell
    Completions(shell::CompletionArgs),
    /// Print the manual page
    Man(shell::ManArgs),
}

/// Parses the command line, does what it says and returns the exit status: 0 done, 1 could not,
/// 2 bad usage, 128 + signal interrupted.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = signals::await_children()
        .map_err(anyhow::Error::from)
        .and_then(|()| match cli.verb {
            None => run::main(&cli.run),
            Some(Verb::Run(args)) => run::main(&args),
            Some(Verb::Sweep(args)) => sweep::main(&args),
            Some(Verb::Memory(args)) => memory::main(&args),
            Some(Verb::Scale(args)) => scale::main(&args),
            Some(Verb::Limits(args)) => limits::main(&args),
            Some(Verb::Report(args)) => report::main(&args),
            Some(Verb::Compare(args)) => compare::main(&args),
            Some(Verb::Fit(args)) => fit::main(&args),
            Some(Verb::Completions(args)) => shell::completions(&args, Cli::command()),
            Some(Verb::Man(args)) => shell::man(&args, Cli::command()),
        });
    match (outcome, signals::received()) {
        (Err(e), None) => console::complain(&e),
        (Err(e), Some(signal)) => {
            console::complain(&e);
            ExitCode::from(128 + signal as u8)
        }
        (Ok(()), Some(signal)) => ExitCode::from(128 + signal as u8),
        (Ok(()), None) => ExitCode::SUCCESS,
    }
}
