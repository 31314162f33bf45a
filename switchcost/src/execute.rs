//! Running one case in a process of its own.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::Context;
use harness::children::{self, Group};
use harness::record::Record;

use crate::scratch;

/// What became of a run.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// The program printed a record; it may be partial, or carry an error.
    Measured(Box<Record>),
    /// The program printed none, and this is what is known of the reason.
    Failed(String),
}

/// Runs a program until it ends. Its flags must ask for a record.
///
/// Its output goes to files, so that this process sleeps in waitpid(2) meanwhile and takes no CPU
/// from what is measured.
///
/// # Errors
/// When the program cannot be started or awaited; its own failure is an [`Outcome`].
pub fn run(program: &Path, flags: &[String]) -> anyhow::Result<Outcome> {
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
    let status = children::run(&mut command, Group::Own)
        .with_context(|| format!("cannot run {}", program.display()))?;
    match serde_json::from_str(text(&mut stdout)?.trim_end()) {
        Ok(record) => Ok(Outcome::Measured(record)),
        Err(_) => Ok(Outcome::Failed(reason(status, &text(&mut stderr)?))),
    }
}

/// All that a program has written into a file.
fn text(file: &mut File) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Why a program has printed no record: its last words, or how it ended.
fn reason(status: ExitStatus, stderr: &str) -> String {
    match stderr.trim() {
        "" => format!("it printed no record and ended with {status}"),
        words => format!("{words} ({status})"),
    }
}
