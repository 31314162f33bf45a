//! What a program says of a command line before it is run.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, anyhow};
use contract::message::Description;
use facts::limits::Limits;

use crate::measure::process_group::ProcessGroup;
use crate::plan::feasibility::Feasibility;
use crate::plan::setting::Setting;
use crate::system::console::shortened;
use crate::system::executable::Executable;

/// Exit status of a program that was given flags it cannot follow.
const BAD_USAGE: i32 = 2;

/// Time that a program may take to describe itself.
const PATIENCE: Duration = Duration::from_secs(10);

/// Programs that took longer: they are not asked again, since a sweep has a question for each of its points.
static SILENT: Mutex<Vec<Executable>> = Mutex::new(Vec::new());

/// Output of a program that was called.
struct Output {
    status: Option<i32>,
    stdout: Vec<u8>,
    words: String,
}

/// Asks a program if it could run with these flags. Nothing is measured.
///
/// # Errors
/// When it cannot be started.
pub fn ask(
    program: &Executable,
    flags: &[String],
    setting: &Setting,
) -> anyhow::Result<Feasibility> {
    let output = call(program, flags, setting)?;
    Ok(understand(&output, &Limits::read()))
}

/// True if limits allow what a description needs.
fn within(limits: &Limits, description: Box<Description>) -> Feasibility {
    let report = limits.report(&description.needs, description.tasks);
    if report.is_enough() {
        return Feasibility::Fits(description);
    }
    let short = || report.shortages.iter().map(|short| &short.limit);
    Feasibility::TooMuch {
        description,
        largest: report.most.unwrap_or(0),
        limits: short().map(|limit| limit.name.clone()).collect(),
        memory: short().any(|limit| limit.resource.is_bytes()),
    }
}

/// Describes a command line of a program that follows the contract.
///
/// # Errors
/// When it cannot be started, or refuses the flags.
pub fn describe(
    program: &Executable,
    flags: &[String],
    setting: &Setting,
) -> anyhow::Result<Description> {
    let output = call(program, flags, setting)?;
    serde_json::from_slice(&output.stdout).map_err(|e| {
        let why = if output.words.trim().is_empty() && !output.stdout.is_empty() {
            shortened(&format!("no description of docs/CONTRACT.md: {e}"))
        } else {
            output.complaint()
        };
        anyhow!("{} --describe: {why}", program.path.display())
    })
}

fn call(program: &Executable, flags: &[String], setting: &Setting) -> anyhow::Result<Output> {
    let silent = || SILENT.lock().unwrap_or_else(PoisonError::into_inner);
    if silent().contains(program) {
        return Ok(Output::none());
    }
    let args = [flags, &["--describe".to_owned()]].concat();
    let mut running = ProcessGroup::start(program, &args, setting, PATIENCE)?;
    running.close_input();
    let mut stdout = Vec::new();
    let cannot = || format!("cannot read from {}", program.path.display());
    if let Some(line) = running.line().with_context(cannot)? {
        stdout = line;
    }
    let ended = running.end().with_context(cannot)?;
    if running.is_overdue() {
        silent().push(program.clone());
        return Ok(Output::none());
    }
    Ok(Output { status: ended.status.code(), stdout, words: ended.fault.unwrap_or(ended.words) })
}

impl Output {
    /// That of a program which does not answer.
    fn none() -> Self {
        let words = format!("it does not describe itself within {} s", PATIENCE.as_secs());
        Output { status: None, stdout: Vec::new(), words }
    }

    /// The first line of what it said.
    fn complaint(&self) -> String {
        let mut lines = self.words.lines().map(str::trim);
        let first = lines.find(|line| !line.is_empty());
        first.unwrap_or("it does not say why").to_owned()
    }
}

fn understand(output: &Output, limits: &Limits) -> Feasibility {
    match serde_json::from_slice::<Description>(&output.stdout) {
        Ok(description) => within(limits, Box::new(description)),
        Err(_) => refusal(output),
    }
}

fn refusal(output: &Output) -> Feasibility {
    match unknown_flag(&output.words) {
        Some(flag) if output.status == Some(BAD_USAGE) => Feasibility::NoFlag(flag.to_owned()),
        _ => Feasibility::Refused(output.complaint()),
    }
}

/// The flag that a command-line parser complains of, as clap and Go's flag package word it.
fn unknown_flag(stderr: &str) -> Option<&str> {
    if let Some((_, rest)) = stderr.split_once("unexpected argument '") {
        return rest.split('\'').next();
    }
    let (_, rest) = stderr.split_once("flag provided but not defined: ")?;
    rest.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn understood(status: Option<i32>, stdout: &[u8], words: &str) -> Feasibility {
        let output = Output { status, stdout: stdout.to_owned(), words: words.to_owned() };
        understand(&output, &Limits::read())
    }

    #[test]
    fn answers_are_understood() {
        let describe = |tasks: u64, bytes: u64| {
            let description = serde_json::json!({
                "contract": 1, "program": "p", "version": "3", "tasks": tasks, "hops": 5,
                "claim": "no-switch", "passes": [{"name": "main"}],
                "needs": {"bytes": {"fixed": 0, "each": bytes}}
            });
            description.to_string().into_bytes()
        };
        assert!(matches!(understood(Some(0), &describe(1, 1), ""), Feasibility::Fits(_)));
        let much = understood(Some(0), &describe(1 << 40, 1 << 20), "");
        let reason = much.reason().unwrap();
        assert!(reason.starts_with("this system allows at most "), "{reason}");
        let reason = understood(Some(0), &describe(1, 1 << 60), "").reason().unwrap();
        assert!(reason.starts_with("this system does not allow that ("), "{reason}");
        let clap = "error: unexpected argument '--capacity' found\n\nUsage: b\n";
        let no_flag = |flag: &str| Feasibility::NoFlag(flag.to_owned());
        assert_eq!(understood(Some(2), b"", clap), no_flag("--capacity"));
        let go = "flag provided but not defined: -capacity\nUsage of b:\n";
        assert_eq!(understood(Some(2), b"", go), no_flag("-capacity"));
        assert_eq!(
            understood(Some(2), b"", "\nb: --placement: no\n more").reason(),
            Some("b: --placement: no".to_owned())
        );
        let silent = Feasibility::Refused("it does not say why".to_owned());
        assert_eq!(understood(None, b"", ""), silent);
    }
}
