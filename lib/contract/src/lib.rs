//! What a measured program and its runner say to each other, and the phases of a run: docs/CONTRACT.md.
//!
//! A program is a type with clap flags that implements [`Program`], and a `main` that calls
//! [`main`] with a function that builds, runs and takes down its work.

mod command;
pub mod console;
pub mod flags;
pub mod limits;
pub mod message;
mod needs;
mod run;
pub mod samples;
pub mod signals;
mod text;
pub mod units;
mod usage;

use std::fmt;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;

pub use flags::{Defaults, Flags};
pub use run::{Pass, Run, Step};

use message::{Answer, Description, Extra};

/// Exit status: could not measure.
const COULD_NOT_MEASURE: u8 = 1;

/// Exit status: the command line asks for something that does not exist.
const BAD_USAGE: u8 = 2;

/// Longest line of a message about the command line, in characters.
const LONGEST_COMPLAINT: usize = 300;

/// A measured program: its flags.
pub trait Program: Parser {
    /// Usual size of a run.
    const DEFAULTS: Defaults = Defaults::BRIGADE;

    /// The flags that every program has.
    fn flags(&self) -> &Flags;

    /// Description of what these flags would build. Builds nothing.
    ///
    /// # Errors
    /// A [`BadUsage`] error where flags do not go together.
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

/// A signal that ended the run while it was built.
#[derive(Clone, Copy, Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted before the first iteration")
    }
}

impl std::error::Error for Interrupted {}

/// Parses the command line, and has `measure` build the work, run it and take it down. It returns when
/// all tasks have ended, with an error where anything was not as it should be.
pub fn main<P: Program>(measure: fn(&P, &mut Run) -> anyhow::Result<()>) -> ExitCode {
    let command = P::DEFAULTS.apply(P::command()).version(env!("CARGO_PKG_VERSION"));
    let name = command.get_name().to_owned();
    let parsed = command.try_get_matches().and_then(|m| P::from_arg_matches(&m));
    let program = match parsed {
        Ok(program) => program,
        Err(e) => return refuse(&name, &e),
    };
    console::catch_panics();
    let outcome =
        signals::install().map_err(anyhow::Error::from).and_then(|()| start(&program, measure));
    match outcome {
        Ok(status) => status,
        Err(error) => complain(&name, &error),
    }
}

/// Prints the help, or, in one line, what is wrong with the command line.
fn refuse(name: &str, error: &clap::Error) -> ExitCode {
    let text = error.render().to_string();
    let printed = match error.use_stderr() {
        true => {
            let words = text.split("\nUsage: ").next().unwrap_or_default();
            let words = words.split("\nFor more information").next();
            let words: Vec<&str> = words.unwrap_or_default().split_whitespace().collect();
            let words = words.join(" ");
            let words = words.trim_start_matches("error: ");
            console::say(&format!("{name}: {words:.LONGEST_COMPLAINT$} (see --help)"));
            Ok(())
        }
        // Without the blank lines between flags it fits a screen and a half.
        false => console::show(&text.replace("\n\n ", "\n ")),
    };
    match printed {
        Ok(()) => ExitCode::from(error.exit_code() as u8),
        Err(_) => ExitCode::from(COULD_NOT_MEASURE),
    }
}

/// Says on standard error what went wrong. Returns 2 for a [`BadUsage`] error, else 1.
fn complain(name: &str, error: &anyhow::Error) -> ExitCode {
    console::say(&format!("{name}: {error:#}"));
    ExitCode::from(match error.downcast_ref::<BadUsage>() {
        Some(_) => BAD_USAGE,
        None => COULD_NOT_MEASURE,
    })
}

fn start<P: Program>(
    program: &P,
    measure: fn(&P, &mut Run) -> anyhow::Result<()>,
) -> anyhow::Result<ExitCode> {
    let description = program.describe()?;
    let flags = program.flags();
    if flags.describe {
        let line = serde_json::to_string(&description)? + "\n";
        console::show(&line).context("cannot print the description")?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut run = Run::new(flags, description);
    let outcome = limits::check(run.description()).and_then(|()| {
        catch_unwind(AssertUnwindSafe(|| measure(program, &mut run)))
            .unwrap_or_else(|panic| Err(console::panic_error(&*panic)))
    });
    match run.flags().controlled {
        true => conclude_controlled(&run, outcome),
        false => conclude_alone(&run, outcome),
    }
}

/// Tells the runner how it ended. Where nobody reads any more, there is nobody to tell.
fn conclude_controlled(run: &Run, outcome: anyhow::Result<()>) -> anyhow::Result<ExitCode> {
    let signal = signals::received();
    let interrupted = |e: &anyhow::Error| e.is::<Interrupted>() && signal.is_some();
    let (answer, status) = match outcome {
        Err(error) if error.is::<BadUsage>() => return Err(error),
        Err(error) if !interrupted(&error) => {
            let error = format!("{error:#}");
            (Answer::Failed { error }, COULD_NOT_MEASURE)
        }
        _ => {
            let teardown_ns = run.teardown().map(|d| d.as_nanos() as u64);
            let status = signal.map_or(0, |signal| 128 + signal as u8);
            (Answer::Ended { teardown_ns, extra: Extra::new() }, status)
        }
    };
    let told = run.answer(&answer);
    let gone = |e: &anyhow::Error| {
        let io = e.downcast_ref::<std::io::Error>();
        io.is_some_and(|e| e.kind() == ErrorKind::BrokenPipe)
    };
    match told {
        Err(e) if !gone(&e) => Err(e),
        _ => Ok(ExitCode::from(status)),
    }
}

/// Prints what was measured, also where it ended early, and then why it did.
fn conclude_alone(run: &Run, outcome: anyhow::Result<()>) -> anyhow::Result<ExitCode> {
    let text = run.result.as_ref().and_then(|pass| text::of(run.description(), pass));
    if let (Some(text), false) = (&text, run.flags().quiet) {
        console::show(text).context("cannot print the result")?;
    }
    let Some(signal) = signals::received() else {
        return outcome.map(|()| ExitCode::SUCCESS);
    };
    if let Err(error) = outcome
        && !error.is::<Interrupted>()
    {
        console::say(&format!("{error:#}"));
    }
    console::say(&format!(
        "interrupted after {} of {} iterations",
        run.result.as_ref().map_or(0, |pass| pass.samples.count()),
        run.flags().iters
    ));
    Ok(ExitCode::from(128 + signal as u8))
}
