//! The command line: each verb but `completions` is a file of `verbs`.

use std::env;
use std::io;
use std::process::ExitCode;

use anyhow::Context;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use nix::sys::signal::{SigHandler, Signal, signal};

use crate::measure::child;
use crate::system::console::{self, BadUsage};
use crate::system::signals;
use crate::verbs::gate::End;
use crate::verbs::{check, compare, duel, estimate, limits, report, run, stat, sweep};

/// Measure what an OS thread and an async (Tokio) task cost here: to switch to, to create, to keep in memory
#[derive(Debug, Parser)]
#[command(version = env!("SWITCHCOST_VERSION"), args_conflicts_with_subcommands = true, max_term_width = 100)]
#[command(after_long_help = "Examples:
  switchcost
  switchcost --quick
  switchcost run --plan why
  switchcost estimate --switches 20k/s")]
struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    run: run::Args,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run a plan, and print its answer or its tables (the default command)
    #[command(after_long_help = "Examples:
  switchcost run --quick
  switchcost run --plan why --full
  switchcost run --list --filter pipes

Exit status: 0 every case was measured, or cannot exist on this machine; 1 a case failed, and the output names it.")]
    Run(run::Args),
    /// Vary one flag over a range, and measure a curve for each program
    ///
    /// Each value is measured in fresh processes. A line below each curve says where it leaves its initial level. Values
    /// that the limits of this system do not allow are left out, and the output names them.
    #[command(after_long_help = "Examples:
  switchcost sweep --tasks 2..10000
  switchcost sweep --over stack-size=64..8192KiB
  switchcost sweep --over n=1..1000 -- seq {n}")]
    Sweep(sweep::Args),
    /// Measure what your load costs with threads and with async tasks, or what a running service spends on switches
    ///
    /// For a load, two TCP echo servers on loopback take turns to answer requests at this rate: one has a thread per
    /// connection, the other an async task per connection. That takes 15 s, or longer at a low rate or with many
    /// connections. If a server cannot keep up on this machine, the reason is printed instead of its figures.
    ///
    /// A running service is watched together with all processes that it starts; nothing else is measured meanwhile. The
    /// price of a switch comes from earlier results of this machine: at least a switch between two threads on one CPU,
    /// at most a hop through a pipe to any CPU that the service may use. Switching matters from 10 % of the service's
    /// CPU time on, unless it takes less than 0.05 CPUs. There is a verdict only if both prices lead to the same one.
    #[command(after_long_help = "Examples:
  switchcost estimate --switches 20k/s --connections 1000
  switchcost estimate --pid 1234")]
    Estimate(estimate::Args),
    /// Run a program once, and print everything that can be observed
    ///
    /// Options of stat go before PROGRAM. Everything after it belongs to the program, including its --iters and
    /// --warmup. Any other command goes after `--`: it is run 20 times.
    #[command(after_long_help = "Examples:
  switchcost stat thread-brigade --tasks 500
  switchcost stat --counters async-brigade
  switchcost stat -- ls -l")]
    Stat(stat::Args),
    /// Print the limits of this system, which one binds first, and how to raise it
    ///
    /// Asks the programs what they need; nothing is measured or changed. Options of limits go before PROGRAM. Everything
    /// after it belongs to the program.
    #[command(after_long_help = "Examples:
  switchcost limits
  switchcost limits thread-brigade --tasks 20000")]
    Limits(limits::Args),
    /// Check that a program, in any language, follows the contract (docs/CONTRACT.md)
    ///
    /// Prints each check as passed, failed or skipped, with the reason. Options of check go before PROGRAM. Everything
    /// after it belongs to the program.
    #[command(after_long_help = "Examples:
  switchcost check ./my-brigade
  switchcost check python3 skeleton.py

Exit status: 0 no check failed, 1 a check failed, 2 there is no such program.")]
    Check(check::Args),
    /// Print results files again, as an answer, tables, a page or data
    #[command(after_long_help = "Examples:
  switchcost report FILE --full
  switchcost report FILE --html PAGE
  switchcost report results/*/answer.jsonl.gz")]
    Report(report::Args),
    /// Compare two results files
    ///
    /// Two files do not show whether a program is slower or the machine was busier; duel does.
    #[command(after_long_help = "Examples:
  switchcost compare OLD NEW --fail-above 5%

Exit status: 0 the files were compared. With --fail-above: 0 nothing is worse by more, 1 something is, 3 something may \
be, or nothing can be said, 125 a file cannot be read as a whole, or a case failed or is missing.")]
    Compare(compare::Args),
    /// Measure two builds, settings or commands in turns, and judge what changed from A to B
    ///
    /// A side is one of: a folder with built programs; `.`, these sources; `git:REV`, a revision of these sources; or
    /// these sources with another version of a dependency: CRATE@VERSION such as tokio@1.50.0, or CRATE@path:FOLDER.
    /// Builds are made and kept in target/duel. A setting is NAME=VALUE or another form that --a lists. After `--`, the
    /// sides are two commands (docs/commands.md).
    #[command(after_long_help = "Examples:
  switchcost duel tokio@1.50.0 .
  switchcost duel git:HEAD~1 . --fail-above 5%
  switchcost duel --b MALLOC_ARENA_MAX=1
  switchcost duel -- ./old ARGS ::: ./new ARGS

Exit status: 0 nothing is worse by more than --fail-above, 1 something is, 3 something may be, or nothing can be said, 125 \
a side could not be built or a row failed. `git bisect run` takes 125 as untested and 3 as bad.")]
    Duel(Box<duel::Args>),
    /// Print shell completions
    #[command(after_long_help = "Examples:
  switchcost completions fish > ~/.config/fish/completions/switchcost.fish")]
    Completions {
        /// Shell to print completions for
        shell: Shell,
    },
}

/// Parses the command line, does what it says and returns the exit status: 0 done, 1 failed, 2 bad usage,
/// 128 + signal interrupted; the help of a verb lists its other statuses.
pub fn main() -> ExitCode {
    let signals_set = reset_signals();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => return explain(&brief_error(e)),
    };
    child::end_what_is_left();
    let outcome = signals_set.and_then(|()| run_verb(cli));
    let status = outcome.map_or_else(|e| complain(&e), |()| ExitCode::SUCCESS);
    signals::received().map_or(status, |signal| ExitCode::from(128 + signal as u8))
}

/// Definition of the command line.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs a verb. Signals are taken over where a run begins: before, the first one ends the runner.
fn run_verb(cli: Cli) -> anyhow::Result<()> {
    match cli.verb.unwrap_or(Verb::Run(cli.run)) {
        Verb::Run(args) => run::main(&args),
        Verb::Sweep(args) => sweep::main(&args),
        Verb::Estimate(args) => estimate::main(&args),
        Verb::Stat(args) => stat::main(&args),
        Verb::Limits(args) => limits::main(&args),
        Verb::Check(args) => check::main(&args),
        Verb::Report(args) => report::main(&args),
        Verb::Compare(args) => compare::main(&args),
        Verb::Duel(args) => duel::main(&args),
        Verb::Completions { shell } => console::print(|out| {
            clap_complete::generate(shell, &mut Cli::command(), "switchcost", out);
            Ok(())
        })
        .context("cannot print the completions"),
    }
}

/// Resets the action of two signals, which a parent may have changed. With SIGXFSZ ignored, a write past `ulimit -f`
/// fails with an error. If SIGCHLD stayed ignored, no child could be awaited.
fn reset_signals() -> anyhow::Result<()> {
    for (number, action) in
        [(Signal::SIGXFSZ, SigHandler::SigIgn), (Signal::SIGCHLD, SigHandler::SigDfl)]
    {
        // SAFETY: neither action is a handler.
        #[expect(unsafe_code, reason = "nix has no safe wrapper for a signal's action")]
        unsafe { signal(number, action) }.context("cannot set the action of a signal")?;
    }
    signals::explain_aborts().context("cannot set the action of a signal")
}

/// The same error for a command line with arguments that can be quoted: short, and on one line each.
fn brief_error(error: clap::Error) -> clap::Error {
    if !error.use_stderr() {
        return error;
    }
    let brief = env::args_os().map(|arg| console::shortened(&arg.to_string_lossy()));
    Cli::try_parse_from(brief).err().unwrap_or(error)
}

/// Prints a help text, or what is wrong with the command line.
fn explain(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        let text = error.to_string();
        text.trim_end().lines().for_each(|line| console::say(format_args!("{line}")));
        return ExitCode::from(error.exit_code() as u8);
    }
    match error.print() {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            complain(&anyhow::Error::new(e).context("standard output"))
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Prints an error, which may quote long arguments, and gives its exit status.
fn complain(error: &anyhow::Error) -> ExitCode {
    console::say(format_args!("switchcost: {error:#}"));
    let status = error.downcast_ref::<End>().map_or(1, |end| end.status);
    ExitCode::from(if error.is::<BadUsage>() { 2 } else { status })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_command_lines() {
        let mut count = 0;
        for verb in Cli::command().get_subcommands_mut() {
            let help = verb.render_long_help().to_string();
            for example in help.lines().filter(|line| line.starts_with("  switchcost ")) {
                let words = example.split('>').next().unwrap_or_default().split_whitespace();
                Cli::try_parse_from(words).unwrap_or_else(|e| panic!("{example}: {e}"));
                count += 1;
            }
        }
        assert!(count > 10, "{count}");
    }
}
