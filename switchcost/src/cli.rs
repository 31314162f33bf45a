//! The command line: one verb, one file of `verbs`.

use std::env;
use std::ffi::OsString;
use std::io;
use std::panic;
use std::process::ExitCode;
use std::thread;

use anyhow::Context;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use nix::sys::signal::{SigHandler, Signal, signal};

use crate::measure::process_group;
use crate::system::console::{self, BadUsage};
use crate::system::signals;
use crate::verbs::gate::End;
use crate::verbs::{
    check, compare, duel, estimate, limits, machine, memory, report, run, scale, share, shell,
    stat, sweep,
};

/// What a thread and an async task cost on this machine: to switch to, to create, to keep in memory
///
/// Examples: `switchcost`, `switchcost --quick`, `switchcost run --plan why`, `switchcost estimate --switches 20k/s`.
#[derive(Debug, Parser)]
#[command(version = env!("SWITCHCOST_VERSION"), args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    verb: Option<Verb>,
    #[command(flatten)]
    run: run::Args,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run a plan and print its answer or its tables (the default command)
    ///
    /// Examples: `switchcost run --quick`, `switchcost run --plan why --full`, `switchcost run --list --filter pipes`.
    ///
    /// Exit status: 0 each case was measured, or this machine cannot have it; 1 some case failed, which the
    /// output names.
    Run(run::Args),
    /// Measure over a range of one flag: a curve for each program
    ///
    /// Examples: `switchcost sweep --tasks 2..10000`, `switchcost sweep --idle 0..10000`.
    ///
    /// Each value is measured in fresh processes. A line below each curve says where it leaves its
    /// initial level. Values that the limits of this system do not allow are left out by name.
    Sweep(sweep::Args),
    /// Build more and more tasks until a limit stops each program
    ///
    /// Examples: `switchcost scale --to 100000`.
    ///
    /// Prints how set-up, first iteration, teardown and memory grow, and the limit that stops each program.
    Scale(scale::Args),
    /// Measure the memory of a task, and how many tasks this machine could hold
    ///
    /// User and kernel memory of tasks at rest are slopes over the number of tasks.
    Memory(memory::Args),
    /// Measure what your load costs here as threads and as async tasks, or what the switches of a running service cost
    ///
    /// Examples: `switchcost estimate --switches 20k/s --connections 1000`,
    /// `switchcost estimate --pid 1234`.
    ///
    /// A load is run for 15 s, or longer at a low rate or with many connections: two echo servers over TCP on the
    /// loopback, one with a thread per connection and one with a Tokio task per connection, answer requests at this rate
    /// in turns. If a server cannot keep up on this machine, the reason stands in place of its figures.
    ///
    /// A service is watched with all that it starts, and nothing is measured beside it. What a switch costs is taken from
    /// earlier results of this machine: at least a switch between two threads on one CPU, at most a hop through a pipe
    /// to any CPU that the service may use. Switching matters from 10 % of the service's CPU time on, unless it takes
    /// less than 0.05 CPUs. There is a verdict only if both bounds agree.
    Estimate(estimate::Args),
    /// Run a program once and print all that can be observed
    ///
    /// Examples: `switchcost stat thread-brigade --tasks 500`, `switchcost stat --counters async-brigade`.
    ///
    /// Options of stat stand before PROGRAM; what follows it belongs to the program, its --iters and
    /// --warmup too.
    Stat(stat::Args),
    /// Print the limits of this system, the one that binds first, and what raises it
    ///
    /// Examples: `switchcost limits`, `switchcost limits thread-brigade --tasks 20000`.
    ///
    /// The programs are asked for their needs. Nothing is measured or changed.
    /// Options of limits stand before PROGRAM; what follows it belongs to the program.
    Limits(limits::Args),
    /// Print how the CPUs are arranged, and the round trip of a cache line between them
    ///
    /// Sockets, NUMA nodes, caches and SMT siblings as the kernel tells them. The round trip is measured
    /// between CPUs that this process may use, which takes some seconds at most. `run --plan placement`
    /// measures a hand-over between CPUs so related.
    Machine(machine::Args),
    /// Check that a program in any language follows the contract (docs/CONTRACT.md)
    ///
    /// Examples: `switchcost check ./my-brigade`, `switchcost check python3 skeleton.py`.
    ///
    /// Each check is printed as passed, failed or skipped, with the reason. Options of check stand before
    /// PROGRAM; what follows it belongs to the program.
    ///
    /// Exit status: 0 nothing failed, 1 something did, 2 there is no such program.
    Check(check::Args),
    /// Print results files again: answer, tables, page, data
    ///
    /// Examples: `switchcost report FILE --full`, `switchcost report FILE --html PAGE`,
    /// `switchcost report results/*/answer.jsonl`.
    Report(report::Args),
    /// Prepare an answer for the page of machines; nothing is sent
    ///
    /// Examples: `switchcost share NAME answer.jsonl`, `switchcost share --check results/NAME/answer.jsonl`.
    ///
    /// Writes results/NAME/answer.jsonl without what is private, prints all that it holds, and says how to open a
    /// pull request.
    ///
    /// Exit status: 0 written, or all files pass --check; 1 some file does not; 2 it cannot be shared.
    Share(share::Args),
    /// Compare results files
    ///
    /// Examples: `switchcost compare OLD NEW --fail-above 5%`.
    ///
    /// Two files cannot tell a slower program from a busier machine; duel can.
    ///
    /// Exit status: 0 compared, and with --fail-above nothing is worse by more; with --fail-above 1 something is, or
    /// failed or is missing, 3 nothing could be said.
    Compare(compare::Args),
    /// Measure two builds or settings in turns, and judge what changed from A to B
    ///
    /// Examples: `switchcost duel tokio@1.50.0 .`, `switchcost duel git:HEAD~1 . --fail-above 5%`,
    /// `switchcost duel --b MALLOC_ARENA_MAX=1`.
    ///
    /// A side is a folder with built programs; `.`, these sources; `git:REV`, a revision of them; or these sources
    /// with another one of a dependency: CRATE@VERSION such as tokio@1.50.0, CRATE@path:FOLDER or CRATE@git:URL#REV.
    /// What must be built is built in target/duel and kept there. A setting is NAME=VALUE or one of those below.
    ///
    /// Exit status: 0 nothing is worse by more than --fail-above, 1 something is, 3 nothing could be said, 125 a
    /// side could not be built or a row failed. `git bisect run` takes 125 as untested, and 3 as bad.
    Duel(duel::Args),
    /// Print completions for a shell
    ///
    /// Examples: `switchcost completions fish > ~/.config/fish/completions/switchcost.fish`.
    Completions(shell::CompletionArgs),
    /// Print the manual page
    ///
    /// Examples: `switchcost man --dir ~/.local/share/man/man1`.
    Man(shell::ManArgs),
}

/// Parses the command line, does what it says and returns the exit status: 0 done, 1 could not,
/// 2 bad usage, 128 + signal interrupted; further ones are in the help of their verbs.
pub fn main() -> ExitCode {
    report_panics();
    panic::catch_unwind(parse_and_run).unwrap_or(ExitCode::FAILURE)
}

/// Stack of what builds the parser of the command line, which takes 250 KiB of it: `ulimit -s` may allow less.
const ROOM: usize = 4 << 20;

/// Does some work, which starts no program, on a stack that is large enough; on this one if no thread can be had.
fn with_room<T: Send>(work: impl Fn() -> T + Sync) -> T {
    thread::scope(|scope| {
        match thread::Builder::new().stack_size(ROOM).spawn_scoped(scope, &work) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic)),
            Err(_) => work(),
        }
    })
}

/// Definition of the command line.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Reads the command line; `help VERB` is `VERB --help`.
fn parse(mut args: Vec<OsString>) -> Result<Cli, clap::Error> {
    if args.get(1).is_some_and(|first| first == "help") {
        args.remove(1);
        args.push("--help".into());
    }
    let is_long = args.iter().any(|arg| arg == "--help");
    let mut command = shell::with_help(Cli::command(), is_long);
    let matches = command.try_get_matches_from_mut(args)?;
    Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut command))
}

fn parse_and_run() -> ExitCode {
    let signals_set = reset_signals();
    let cli = match with_room(|| parse(env::args_os().collect())) {
        Ok(cli) => cli,
        Err(e) => return explain(&brief_error(e)),
    };
    process_group::end_what_is_left();
    let outcome = signals_set.and_then(|()| run_verb(cli));
    let status = outcome.map_or_else(|e| complain(&e), |()| ExitCode::SUCCESS);
    signals::received().map_or(status, |signal| ExitCode::from(128 + signal as u8))
}

/// Runs a verb. Signals are taken over where a run begins: before, the first one ends the runner.
fn run_verb(cli: Cli) -> anyhow::Result<()> {
    match cli.verb.unwrap_or(Verb::Run(cli.run)) {
        Verb::Run(args) => run::main(&args),
        Verb::Sweep(args) => sweep::main(&args),
        Verb::Scale(args) => scale::main(&args),
        Verb::Memory(args) => memory::main(&args),
        Verb::Estimate(args) => estimate::main(&args),
        Verb::Stat(args) => stat::main(&args),
        Verb::Limits(args) => limits::main(&args),
        Verb::Machine(args) => machine::main(&args),
        Verb::Check(args) => check::main(&args),
        Verb::Report(args) => report::main(&args),
        Verb::Share(args) => share::main(&args),
        Verb::Compare(args) => compare::main(&args),
        Verb::Duel(args) => duel::main(&args),
        Verb::Completions(args) => with_room(|| shell::completions(&args, Cli::command())),
        Verb::Man(args) => with_room(|| shell::man(&args, Cli::command())),
    }
}

/// Prints a panic, which is a fault of this program, in one line.
fn report_panics() {
    panic::set_hook(Box::new(|info| {
        let words = info.payload_as_str().unwrap_or("no message");
        let place = info.location().map_or_else(String::new, |p| format!(" at {p}"));
        console::say(format_args!("switchcost: internal error: {words}{place}; please report it"));
    }));
}

/// Sets two signals whose action a parent may have changed. Without SIGXFSZ a write past `ulimit
/// -f` fails with an error. With SIGCHLD ignored no child could be awaited.
fn reset_signals() -> anyhow::Result<()> {
    for (number, action) in
        [(Signal::SIGXFSZ, SigHandler::SigIgn), (Signal::SIGCHLD, SigHandler::SigDfl)]
    {
        // SAFETY: neither action is a handler.
        #[expect(unsafe_code, reason = "nix has no safe wrapper for a signal's action")]
        unsafe { signal(number, action) }.context("cannot set the action of a signal")?;
    }
    Ok(())
}

/// The same error of a command line whose arguments can be quoted: short, and each on one line.
fn brief_error(error: clap::Error) -> clap::Error {
    if !error.use_stderr() {
        return error;
    }
    let brief = |arg: OsString| console::brief(&arg.to_string_lossy()).into();
    with_room(|| parse(env::args_os().map(brief).collect())).err().unwrap_or(error)
}

/// Prints a help text, or what is wrong with the command line.
fn explain(error: &clap::Error) -> ExitCode {
    let styled = error.render();
    let colour = |obeys: bool| obeys && env::var_os("NO_COLOR").is_none();
    if error.use_stderr() {
        if colour(console::obeys_escapes(&io::stderr())) {
            error.exit()
        }
        styled.to_string().trim_end().lines().for_each(|line| console::say(format_args!("{line}")));
        return ExitCode::from(error.exit_code() as u8);
    }
    let text = if colour(console::obeys_escapes(&io::stdout())) {
        styled.ansi().to_string()
    } else {
        styled.to_string()
    };
    // Not as plain text: it quotes nobody, and has colours.
    match contract::console::show(&text).context("cannot print the help") {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => complain(&e),
    }
}

/// Prints an error, which may quote long arguments, and gives its exit status.
fn complain(error: &anyhow::Error) -> ExitCode {
    console::say(format_args!("switchcost: {error:#}"));
    let own = error.downcast_ref::<End>().map_or(1, |end| end.status);
    ExitCode::from(if error.is::<BadUsage>() { 2 } else { own })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_command_lines_and_help_is_short() {
        for verb in shell::with_help(Cli::command(), true).get_subcommands_mut() {
            let help = verb.render_help().to_string();
            assert!(help.lines().count() <= 80, "{help}");
            let examples = help.lines().skip_while(|line| *line != "Examples:").skip(1);
            for example in examples.take_while(|line| line.starts_with("  switchcost")) {
                let words = example.split('>').next().unwrap_or_default().split_whitespace();
                parse(words.map(OsString::from).collect())
                    .unwrap_or_else(|e| panic!("{example}: {e}"));
            }
        }
        let help = parse(["switchcost", "help", "duel"].map(OsString::from).to_vec()).unwrap_err();
        let at =
            |what| help.to_string().find(what).unwrap_or_else(|| panic!("no {what} in {help}"));
        assert!(at("Examples:") < at("Usage:") && at("\nSettings:") < at("Exit status:"), "{help}");
    }
}
