//! What a measured program and its runner say to each other, and the phases of a run: docs/CONTRACT.md.
//!
//! A program is a type with clap flags that implements [`Program`], and a `main` that calls
//! [`main`] with a function that builds, runs and takes down its work.

mod command;
pub mod flags;
pub mod limits;
pub mod message;
mod pass;
mod request;
mod run;
mod runs;
pub mod samples;
mod text;

use std::fmt;
use std::io::{self, ErrorKind::BrokenPipe};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use anyhow::Context;
use clap::{ArgMatches, FromArgMatches, Parser};

pub use flags::{Defaults, Flags};
pub use pass::Pass;
pub use run::{Run, Step};

use host::{console, signals};
use message::{Answer, Description};

/// Exit status: could not measure.
const COULD_NOT_MEASURE: u8 = 1;

/// Exit status: the command line asks for something that does not exist.
const BAD_USAGE: u8 = 2;

/// Longest line of a message about the command line, in characters.
const LONGEST_COMPLAINT: usize = 300;

/// A measured program: its flags, among them [`Flags`].
pub trait Program: Parser {
    /// Usual size of a run.
    const DEFAULTS: Defaults = Defaults::BRIGADE;

    /// Description of what these flags would build. Builds nothing.
    fn describe(&self) -> anyhow::Result<Description>;
}

/// A command line that cannot be followed. Ends the program with status 2.
#[derive(Debug)]
pub struct BadUsage(String);

impl BadUsage {
    /// An error with a message that names the flag, the limit and the remedy.
    #[expect(clippy::new_ret_no_self, reason = "callers return it as an error")]
    pub fn new(message: impl Into<String>) -> anyhow::Error {
        anyhow::Error::new(BadUsage(message.into()))
    }
}

impl fmt::Display for BadUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadUsage {}

/// A signal that ended the run in the middle of an iteration, or of a hold.
#[derive(Clone, Copy, Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted before the first iteration")
    }
}

impl std::error::Error for Interrupted {}

/// Parses the command line, and has `measure` build the work, run it and take it down. `measure` returns when all tasks
/// have ended, with an error if anything was not as it should be.
pub fn main<P: Program + 'static>(measure: fn(&P, &mut Run) -> anyhow::Result<()>) -> ExitCode {
    follow(P::DEFAULTS.apply(P::command()), &|matches| {
        let program = P::from_arg_matches(matches)?;
        Ok(Parsed {
            flags: Flags::from_arg_matches(matches)?,
            description: program.describe(),
            measure: Box::new(move |run| measure(&program, run)),
        })
    })
}

/// A command line that was understood. What follows is not generic, so that it is compiled once.
struct Parsed {
    flags: Flags,
    description: anyhow::Result<Description>,
    measure: Measure,
}

/// Builds the work, runs it and takes it down. Without the box, the heap is another one, on which parsing JSON takes 14 %
/// more time (glibc 2.36).
type Measure = Box<dyn FnOnce(&mut Run) -> anyhow::Result<()>>;

fn follow(
    command: clap::Command,
    parse: &dyn Fn(&ArgMatches) -> Result<Parsed, clap::Error>,
) -> ExitCode {
    let installed = signals::install_in_program().context("cannot handle signals");
    let name = command.get_name().to_owned();
    let parsed =
        command.version(env!("CARGO_PKG_VERSION")).try_get_matches().and_then(|m| parse(&m));
    let parsed = match parsed {
        Ok(parsed) => parsed,
        Err(e) => return refuse(&name, &e),
    };
    console::catch_panics();
    match installed.and_then(|()| start(parsed)) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            console::say(&format!("{name}: {error:#}"));
            ExitCode::from(match signals::received() {
                Some(signal) if error.is::<Interrupted>() => 128 + signal as u8,
                _ if error.is::<BadUsage>() => BAD_USAGE,
                _ => COULD_NOT_MEASURE,
            })
        }
    }
}

/// Prints the help or the version, or in one line the fault of the command line.
fn refuse(name: &str, error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    if error.use_stderr() {
        let fault = text.split("\nUsage: ").next().unwrap_or_default();
        let fault = fault.split("\nFor more information").next().unwrap_or_default();
        let words: Vec<&str> = fault.split_whitespace().collect();
        let words = words.join(" ");
        let words = words.trim_start_matches("error: ");
        console::say(&format!("{name}: {words:.LONGEST_COMPLAINT$} (see --help)"));
    // Without the blank lines between flags the help fits a screen and a half.
    } else if let Err(e) = console::show(&text.replace("\n\n ", "\n ")) {
        console::say(&format!("{name}: {e}"));
        return ExitCode::from(COULD_NOT_MEASURE);
    }
    ExitCode::from(error.exit_code() as u8)
}

/// Describes the work or measures it. Returns the exit status.
fn start(Parsed { flags, description, measure }: Parsed) -> anyhow::Result<u8> {
    let description = description?;
    if flags.describe {
        let line = serde_json::to_string(&description)? + "\n";
        console::show(&line).context("cannot print the description")?;
        return Ok(0);
    }
    let mut run = Run::new(&flags, description);
    let outcome = limits::check(&run.description).and_then(|()| {
        catch_unwind(AssertUnwindSafe(|| measure(&mut run)))
            .unwrap_or_else(|panic| Err(console::panic_error(&*panic)))
    });
    if flags.controlled {
        conclude_controlled(&run, outcome)
    } else {
        conclude_alone(&run, outcome)
    }
}

/// Tells the runner how the run ended.
fn conclude_controlled(run: &Run, outcome: anyhow::Result<()>) -> anyhow::Result<u8> {
    let signal = signals::received();
    let (answer, status) = match outcome {
        Err(error) if error.is::<BadUsage>() => return Err(error),
        Err(error) if !error.is::<Interrupted>() || signal.is_none() => {
            (Answer::Failed { error: format!("{error:#}") }, COULD_NOT_MEASURE)
        }
        _ => {
            let teardown_ns = run.ended.map(|at| at.elapsed().as_nanos() as u64);
            let status = signal.map_or(0, |signal| 128 + signal as u8);
            (Answer::Ended { teardown_ns, extra: run.extra.clone() }, status)
        }
    };
    match run.answer(&answer) {
        // If nobody reads any more, there is nobody to tell.
        Err(e) if e.downcast_ref::<io::Error>().map(io::Error::kind) != Some(BrokenPipe) => Err(e),
        _ => Ok(status),
    }
}

/// Prints what was measured, also if it ended early, and then why it did.
fn conclude_alone(run: &Run, outcome: anyhow::Result<()>) -> anyhow::Result<u8> {
    let text = run.result.as_ref().and_then(|pass| text::render(run, pass));
    if let (Some(text), false) = (&text, run.flags.quiet) {
        console::show(text).context("cannot print the result")?;
    }
    let Some(signal) = signals::received() else {
        return outcome.map(|()| 0);
    };
    if let Err(error) = outcome
        && !error.is::<Interrupted>()
    {
        console::say(&format!("{error:#}"));
    }
    console::say(&text::interrupted(run));
    Ok(128 + signal as u8)
}
