//! What a program says about a command line before it runs.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, bail};
use contract::message::{Description, Needs};
use limits::Limits;
use record::Setting;

use crate::measure::{launch, needs};
use crate::plan::refusal::Refusal;
use crate::system::console::shortened;
use crate::system::program::Program;

/// Exit status of a program that cannot follow its flags.
const BAD_USAGE: i32 = 2;

/// Time that a program may take to describe itself.
const PATIENCE: Duration = Duration::from_secs(10);

/// Programs that took longer: they are not asked again, since a sweep has a question for each of its points.
static SILENT: Mutex<Vec<Program>> = Mutex::new(Vec::new());

/// Asks a program if it could run with these flags. Nothing is measured.
///
/// # Errors
/// [`Refusal`] if it would not run, and another one if it cannot be started.
pub fn ask(program: &Program, flags: &[String], setting: &Setting) -> anyhow::Result<Description> {
    let description = call(program, flags, setting)?;
    match Limits::read().tightest(&description.needs) {
        Some((limit, largest)) if largest < description.tasks => bail!(Refusal::TooMuch {
            largest,
            limit: limit.name.clone(),
            memory: limit.resource.is_bytes(),
        }),
        _ => Ok(description),
    }
}

/// Describes a command line of a program that follows the contract, whether or not the limits allow it.
pub fn describe(
    program: &Program,
    flags: &[String],
    setting: &Setting,
) -> anyhow::Result<Description> {
    call(program, flags, setting).map_err(|e| {
        if e.is::<Refusal>() {
            e.context(format!("{} --describe", program.path.display()))
        } else {
            e
        }
    })
}

fn call(program: &Program, flags: &[String], setting: &Setting) -> anyhow::Result<Description> {
    let silence = format!("it did not describe itself within {} s", PATIENCE.as_secs());
    if SILENT.lock().unwrap_or_else(PoisonError::into_inner).contains(program) {
        bail!(Refusal::NoDescription(silence));
    }
    let args = [flags, &["--describe".to_owned()]].concat();
    let mut running = launch::start(program, &args, setting, PATIENCE)?;
    running.close_input();
    let line = running.line().and_then(|line| Ok((line.unwrap_or_default(), running.end()?)));
    let (line, ended) =
        line.with_context(|| format!("cannot read from {}", program.path.display()))?;
    if ended.is_overdue {
        SILENT.lock().unwrap_or_else(PoisonError::into_inner).push(program.clone());
        bail!(Refusal::NoDescription(silence));
    }
    let words = ended.fault.as_ref().unwrap_or(&ended.words);
    let is_silent = line.is_empty() && words.trim().is_empty();
    if is_silent && !setting.wrap.is_empty() {
        let silence =
            "it printed nothing: the command of wrap= must execute the program that follows it";
        bail!(Refusal::Other(silence.to_owned()));
    }
    let mut description = understand(ended.status.code(), &line, words)?;
    if description.needs == Needs::default() {
        description.needs = needs::measured(program, flags, setting).unwrap_or_default();
    }
    Ok(description)
}

fn understand(status: Option<i32>, stdout: &[u8], words: &str) -> Result<Description, Refusal> {
    serde_json::from_slice(stdout).map_err(|e| {
        if let (Some(BAD_USAGE), Some(flag)) = (status, unknown_flag(words)) {
            return Refusal::NoFlag(flag.to_owned());
        }
        match words.lines().map(str::trim).find(|line| !line.is_empty()) {
            Some(complaint) => Refusal::Other(complaint.to_owned()),
            None if stdout.is_empty() => Refusal::NoDescription("it printed no reason".to_owned()),
            None => Refusal::NoDescription(shortened(&format!(
                "its output is not a description as in docs/CONTRACT.md: {e}"
            ))),
        }
    })
}

/// The flag that a command-line parser complains about, in the words of clap or of Go's flag package.
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

    #[test]
    fn refusals_are_understood() {
        let no_flag = |flag: &str| Refusal::NoFlag(flag.to_owned());
        let refused = |why: &str| Refusal::Other(why.to_owned());
        for (status, words, refusal) in [
            (2, "error: unexpected argument '--x' found\n\nUsage: b\n", no_flag("--x")),
            (2, "flag provided but not defined: -x\nUsage of b:\n", no_flag("-x")),
            (2, "\nb: --placement: no\n more", refused("b: --placement: no")),
            (1, "", Refusal::NoDescription("it printed no reason".to_owned())),
        ] {
            assert_eq!(understand(Some(status), b"", words), Err(refusal));
        }
    }
}
