//! `switchcost check`: checks a program in any language against the contract.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use contract::units::counted;
use record::{Setting, Why};
use serde_json::{Value, json};

use crate::check::{self, Candidate};
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
    let tally = |wanted: &str| checks.iter().filter(|check| check["result"] == wanted).count();
    let [passed, failed, skipped] = ["passed", "failed", "skipped"].map(tally);
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
    fn checks(&self, candidate: &Candidate) -> anyhow::Result<Vec<Value>> {
        let mut checks = Vec::new();
        for (check, outcome) in check::check(candidate, |_| true) {
            // A check that was interrupted has no result.
            if signals::received().is_some() {
                bail!("interrupted after {}", counted(checks.len(), "check"));
            }
            let (result, reason) = match outcome {
                Ok(agreement) => ("passed", agreement),
                Err(Why::LeftOut(why)) => ("skipped", Some(why)),
                Err(Why::Failed(why)) => ("failed", Some(why)),
            };
            if self.format == TextOrJson::Text {
                // A failure quotes what the program printed.
                let words = reason.as_ref().map_or(String::new(), |words| format!(": {words}"));
                let line = shortened(&format!("{result:<8} {check}{words}"));
                console::show(|out| writeln!(out, "{line}")).context("cannot print the result")?;
            }
            checks.push(json!({"check": check, "result": result, "reason": reason}));
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
        let programs = Programs::up_to_date([program], &built_in_tables()?)?;
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
