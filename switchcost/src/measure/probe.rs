//! What a program says of a command line before it is run.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, anyhow};
use contract::message::Description;
use limits::Limits;

use crate::measure::launch;
use crate::plan::feasibility::Feasibility;
use crate::plan::setting::Setting;
use crate::system::console::shortened;
use crate::system::executable::Executable;

/// Time that a program may take to describe itself.
const PATIENCE: Duration = Duration::from_secs(10);

/// Programs that took longer: they are not asked again, since a sweep has a question for each of its points.
static SILENT: Mutex<Vec<Executable>> = Mutex::new(Vec::new());

/// Asks a program if it could run with these flags. Nothing is measured.
///
/// # Errors
/// When it cannot be started.
pub fn ask(
    program: &Executable,
    flags: &[String],
    setting: &Setting,
) -> anyhow::Result<Feasibility> {
    Ok(feasibility(call(program, flags, setting)?, &Limits::read()))
}

/// What limits allow of an answer.
fn feasibility(answer: Result<Description, String>, limits: &Limits) -> Feasibility {
    let description = match answer {
        Ok(description) => Box::new(description),
        Err(why) => return Feasibility::Refused(why),
    };
    let short = limits.too_low(&description.needs, description.tasks);
    if short.is_empty() {
        return Feasibility::Fits(description);
    }
    Feasibility::TooMuch {
        largest: limits.tightest(&description.needs).map_or(0, |(_, most)| most),
        limits: short.iter().map(|(limit, _)| limit.name.clone()).collect(),
        memory: short.iter().any(|(limit, _)| limit.resource.is_bytes()),
        description,
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
    let described = call(program, flags, setting)?;
    described.map_err(|why| anyhow!("{} --describe: {why}", program.path.display()))
}

fn call(
    program: &Executable,
    flags: &[String],
    setting: &Setting,
) -> anyhow::Result<Result<Description, String>> {
    let silence = format!("it does not describe itself within {} s", PATIENCE.as_secs());
    let silent = || SILENT.lock().unwrap_or_else(PoisonError::into_inner);
    if silent().contains(program) {
        return Ok(Err(silence));
    }
    let args = [flags, &["--describe".to_owned()]].concat();
    let mut running = launch::start(program, &args, setting, PATIENCE)?;
    running.close_input();
    let cannot = || format!("cannot read from {}", program.path.display());
    let line = running.line().with_context(cannot)?.unwrap_or_default();
    let ended = running.end().with_context(cannot)?;
    if ended.is_overdue {
        silent().push(program.clone());
        return Ok(Err(silence));
    }
    let words = ended.fault.as_ref().unwrap_or(&ended.words);
    Ok(understand(&line, words))
}

fn understand(stdout: &[u8], words: &str) -> Result<Description, String> {
    serde_json::from_slice(stdout).map_err(|e| {
        match words.lines().map(str::trim).find(|line| !line.is_empty()) {
            Some(complaint) => complaint.to_owned(),
            None if stdout.is_empty() => "it does not say why".to_owned(),
            None => shortened(&format!("no description of docs/CONTRACT.md: {e}")),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn understood(stdout: &[u8], words: &str) -> Feasibility {
        feasibility(understand(stdout, words), &Limits::read())
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
        assert!(matches!(understood(&describe(1, 1), ""), Feasibility::Fits(_)));
        let much = understood(&describe(1 << 40, 1 << 20), "");
        let reason = much.reason().unwrap();
        assert!(reason.starts_with("this system allows at most "), "{reason}");
        let reason = understood(&describe(1, 1 << 60), "").reason().unwrap();
        assert!(reason.starts_with("this system does not allow that ("), "{reason}");
        assert_eq!(
            understood(b"", "\nb: --placement: no\n more").reason(),
            Some("b: --placement: no".to_owned())
        );
        let silent = Feasibility::Refused("it does not say why".to_owned());
        assert_eq!(understood(b"", ""), silent);
    }
}
