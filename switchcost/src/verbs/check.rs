//! `switchcost check`: checks a program in any language against the contract.

use std::time::Duration;

use anyhow::ensure;
use host::units::counted;
use record::{Setting, Why};
use serde::Serialize;
use serde_json::json;

use crate::check::{self, Candidate};
use crate::plan::programs::Programs;
use crate::plan::values::time_limit;
use crate::plan::{built_in_tables, ensure_no_runner_flags};
use crate::render::{Document, Report, Spreadsheet};
use crate::system::console::{BadUsage, shortened};
use crate::system::{lock, progress, signals};
use crate::verbs::args::ProgramArgs;
use crate::verbs::output::{self, Format};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How long a program may be silent before it counts as hung
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "1m", value_parser = time_limit)]
    timeout: Duration,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten)]
    command: ProgramArgs,
}

/// What came of each check.
#[derive(Debug, Default, Serialize)]
struct Checks {
    program: String,
    passed: usize,
    failed: usize,
    skipped: usize,
    checks: Vec<Checked>,
}

#[derive(Debug, Serialize)]
struct Checked {
    check: &'static str,
    result: &'static str,
    /// Why it failed or was skipped; what a check that passed measured.
    reason: Option<String>,
}

/// A line for each check.
const COLUMNS: &[(&str, &str)] =
    &[("check", "/check"), ("result", "/result"), ("reason", "/reason")];

impl Report for Checks {
    fn documents(&self) -> Vec<Document> {
        let checks = self.checks.iter().map(|Checked { check, result, reason }| {
            // A failure quotes what the program printed.
            let reason = reason.as_ref().map_or(String::new(), |words| format!(": {words}"));
            shortened(&format!("{result}: {check}{reason}"))
        });
        let Checks { program, passed, failed, skipped, .. } = self;
        let tally = format!("{passed} passed, {failed} failed, {skipped} skipped");
        vec![Document::list(&format!("Checks of {program}"), checks, tally)]
    }

    fn spreadsheet(&self) -> Spreadsheet {
        let lines = self.checks.iter().map(|checked| json!(checked)).collect();
        Spreadsheet { columns: COLUMNS, lines }
    }
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let (program, flags) = args.command.split()?;
    let candidate = args.candidate(program, flags)?;
    signals::install()?;
    let _lock = lock::acquire();
    let mut report = Checks { program: program.to_owned(), ..Checks::default() };
    for (check, outcome) in check::check(&candidate, |_| true) {
        // A check that was interrupted has no result.
        if signals::received().is_some() {
            break;
        }
        report.add(check, outcome);
    }
    progress::draw("");
    let count = report.checks.len();
    if count > 0 {
        output::print(&report, args.format)?;
    }
    ensure!(signals::received().is_none(), "interrupted after {}", counted(count, "check"));
    ensure!(report.failed == 0, "{program}: {} of {count} checks failed", report.failed);
    Ok(())
}

impl Checks {
    fn add(&mut self, check: &'static str, outcome: Result<Option<String>, Why>) {
        let (result, tally, reason) = match outcome {
            Ok(agreement) => ("passed", &mut self.passed, agreement),
            Err(Why::LeftOut(why)) => ("skipped", &mut self.skipped, Some(why)),
            Err(Why::Failed(why)) => ("failed", &mut self.failed, Some(why)),
        };
        *tally += 1;
        progress::draw(&format!("{result}: {check}"));
        self.checks.push(Checked { check, result, reason });
    }
}

impl Args {
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
