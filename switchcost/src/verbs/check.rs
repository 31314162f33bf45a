//! `switchcost check`: checks a program in any language against the contract.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use contract::units::counted;
use record::Setting;
use serde_json::{Value, json};

use crate::check::{self, Candidate, Checked};
use crate::plan::programs::Programs;
use crate::plan::values::time_limit;
use crate::plan::{built_in_tables, ensure_no_runner_flags};
use crate::system::console::{self, BadUsage, shortened};
use crate::system::{lock, signals};
use crate::verbs::args::{ProgramArgs, TextOrJson};
use crate::verbs::output;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How long a program may be silent before it counts as hung
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "1m", value_parser = time_limit)]
    timeout: Duration,

    /// Output format
    #[arg(long, value_enum, default_value_t = TextOrJson::Text)]
    format: TextOrJson,

    #[command(flatten)]
    command: ProgramArgs,
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let (program, flags) = args.command.split()?;
    let candidate = args.candidate(program, flags)?;
    signals::install()?;
    let _lock = lock::acquire();
    let checks = args.checks(&candidate)?;
    let count = checks.len();
    let tally = |wanted: &str| checks.iter().filter(|(_, of)| word(of) == wanted).count();
    let [passed, failed, skipped] = ["passed", "failed", "skipped"].map(tally);
    let checks: Vec<Value> = checks.iter().map(object).collect();
    let report = json!({
        "program": program, "passed": passed, "failed": failed, "skipped": skipped, "checks": checks,
    });
    output::print_as(args.format, &report, |out| {
        writeln!(out, "{passed} passed, {failed} failed, {skipped} skipped")
    })?;
    ensure!(failed == 0, "{program}: {failed} of {count} checks failed");
    Ok(())
}

impl Args {
    /// Makes the checks, and prints each of them.
    fn checks(&self, candidate: &Candidate) -> anyhow::Result<Vec<(&'static str, Checked)>> {
        let mut checks = Vec::new();
        for checked in check::check(candidate, |_| true) {
            // A check that was interrupted has no result.
            if signals::received().is_some() {
                bail!("interrupted after {}", counted(checks.len(), "check"));
            }
            if self.format == TextOrJson::Text {
                console::show(|out| writeln!(out, "{}", line(&checked)))
                    .context("cannot print the result")?;
            }
            checks.push(checked);
        }
        Ok(checks)
    }

    /// The program, which can be started.
    fn candidate(&self, program: &str, flags: &[String]) -> anyhow::Result<Candidate> {
        let bad =
            |why: String| BadUsage::new(format!("{why}: the checks set it themselves: drop it"));
        ensure_no_runner_flags(flags).map_err(|e| bad(e.to_string()))?;
        let names = flags.iter().map(|flag| flag.split('=').next().unwrap_or(flag));
        if let Some(name) = names.into_iter().find(|name| ["--tasks", "--threads"].contains(name)) {
            return Err(bad(format!("{name} belongs to the runner")));
        }
        let programs = Programs::find([program], &built_in_tables()?)?;
        let executable = programs.named(program).map_err(|e| BadUsage::new(e.to_string()))?;
        let executable = executable.clone();
        let candidate = Candidate {
            executable,
            flags: flags.to_vec(),
            timeout: self.timeout,
            setting: Setting::default(),
        };
        candidate.start(&["--describe".to_owned()]).map_err(|e| BadUsage::new(format!("{e:#}")))?;
        Ok(candidate)
    }
}

/// A check in a line. A failure quotes what the program printed.
fn line((check, outcome): &(&str, Checked)) -> String {
    let words = words(outcome).map_or(String::new(), |words| format!(": {words}"));
    shortened(&format!("{:<8} {check}{words}", word(outcome)))
}

/// What came of a check, in a word.
fn word(outcome: &Checked) -> &'static str {
    match outcome {
        Checked::Passed | Checked::Agrees(_) => "passed",
        Checked::Failed(_) => "failed",
        Checked::Skipped(_) => "skipped",
    }
}

/// What else there is to say.
fn words(outcome: &Checked) -> Option<&str> {
    match outcome {
        Checked::Passed => None,
        Checked::Agrees(words) | Checked::Failed(words) | Checked::Skipped(words) => Some(words),
    }
}

/// A check as a program reads it.
fn object((check, outcome): &(&str, Checked)) -> Value {
    json!({"check": check, "result": word(outcome), "reason": words(outcome)})
}
