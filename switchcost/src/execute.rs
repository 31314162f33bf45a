//! Running one case in a process of its own.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context;
use harness::children::{self, Ended, GRACE, Group, Overdue};
use record::Record;
use crate::signals;
use nix::sys::signal::Signal;

use crate::oom;

use crate::scratch;

/// What became of a run.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The program printed a record; it may be partial, or carry an error.
    Measured(Box<Record>),
    /// The program printed none, and this is what is known of the reason.
    Failed(String),
}

/// Runs a program until it ends, or until `timeout` is over and it is made to end. Its flags must
/// ask for a record.
///
/// Its output goes to files, so that this process sleeps meanwhile and takes no CPU from what is
/// measured.
///
/// # Errors
/// When the program cannot be started or awaited; its own failure is an [`Outcome`].
pub fn run(program: &Path, flags: &[String], timeout: Duration) -> anyhow::Result<Outcome> {
    let mut stdout = scratch::file()?;
    let mut stderr = scratch::file()?;
    let mut command = Command::new(program);
    if let Some(name) = program.file_name() {
        // The record holds the command line, and in which folder this user builds is nobody's
        // business.
        command.arg0(name);
    }
    command
        .args(flags)
        .stdin(scratch::no_input()?)
        .stdout(Stdio::from(stdout.try_clone()?))
        .stderr(Stdio::from(stderr.try_clone()?));
    let kills = oom::Kills::now();
    let ended = children::run(&mut command, Group::Own, Some(timeout))
        .with_context(|| format!("cannot run {}", program.display()))?;
    let out_of_memory = || oom::Kills::now().since(kills);
    let fault = fault(ended, timeout, out_of_memory);
    Ok(match serde_json::from_str(text(&mut stdout)?.trim_end()) {
        Ok(record) => Outcome::Measured(with_fault(record, ended.status, fault)),
        Err(_) => Outcome::Failed(reason(ended.status, fault, &text(&mut stderr)?)),
    })
}

/// All that a program has written into a file.
fn text(file: &mut File) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Why a run came to its end from outside, if it did.
fn fault(
    ended: Ended,
    timeout: Duration,
    out_of_memory: impl FnOnce() -> Option<String>,
) -> Option<String> {
    let too_long = format!("timed out: it had not ended after {timeout:?} (--timeout)");
    match ended.overdue {
        Some(Overdue::Asked) => return Some(format!("{too_long}, and was ended by SIGTERM")),
        Some(Overdue::Killed) => {
            return Some(format!(
                "{too_long}, nor within {GRACE:?} of SIGTERM, and was killed"
            ));
        }
        None => {}
    }
    let number = ended.status.signal()?;
    let name = Signal::try_from(number).map_or("unknown", Signal::as_str);
    let killed = format!("killed by signal {number} ({name})");
    Some(
        match out_of_memory().filter(|_| number == Signal::SIGKILL as i32) {
            Some(cause) => format!("{killed}: {cause}"),
            None if signals::received().is_some() => format!("{killed} after an interrupt"),
            None => killed,
        },
    )
}

/// A record with what ended its run from outside, unless that came when all was done.
fn with_fault(mut record: Box<Record>, status: ExitStatus, fault: Option<String>) -> Box<Record> {
    let is_whole = status.success() && !record.partial;
    if let Some(fault) = fault.filter(|_| !is_whole) {
        let samples = record.samples.as_ref().map_or(0, |samples| samples.count);
        let measured = format!("{samples} iterations were timed before");
        record.error = Some(match record.error.take() {
            Some(error) => format!("{fault}; {measured}; it says: {error}"),
            None => format!("{fault}; {measured}"),
        });
    }
    record
}

/// Why a program has printed no record: its last words, or how it ended.
fn reason(status: ExitStatus, fault: Option<String>, stderr: &str) -> String {
    let ended = fault.map(|fault| format!("{fault}; nothing of what it measured is left"));
    match (stderr.trim(), ended) {
        ("", None) => format!("it printed no record and ended with {status}"),
        ("", Some(ended)) => ended,
        (words, None) => format!("{words} ({status})"),
        (words, Some(ended)) => format!("{ended}; it says: {words}"),
    }
}
