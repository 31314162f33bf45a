//! Values of flags that several verbs take.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use clap::builder::{
    NonEmptyStringValueParser, OsStringValueParser, PossibleValue, TypedValueParser,
};
use record::{Place, Row, Setting};

use crate::measure::launch;
use crate::plan::{BUILT_IN, BuiltIn, Plan};
use crate::system::console::{BadUsage, shell_line};
use crate::system::program::Program;
use crate::system::replace;

/// A program and its own flags, at the end of the command line.
#[derive(Debug, clap::Args)]
pub(crate) struct ProgramArgs {
    /// Name or path of a program that follows docs/CONTRACT.md, and its flags
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    program: Vec<String>,
}

impl ProgramArgs {
    /// The program and its flags.
    pub(crate) fn split(&self) -> anyhow::Result<(&str, &[String])> {
        let (program, flags) = self.program.split_first().context("name a program")?;
        Ok((program, flags))
    }
}

/// True if the flags ask a program for its help. It has then printed it, which is no answer to a runner.
pub(crate) fn shows_help(program: &Program, flags: &[String]) -> anyhow::Result<bool> {
    if !flags.iter().any(|flag| ["--help", "-h"].contains(&flag.as_str())) {
        return Ok(false);
    }
    let status = launch::command(program, &Setting::default()).args(flags).status();
    let path = program.path.display();
    let status = status.with_context(|| format!("cannot start {path}"))?;
    ensure!(status.success(), "{path} {}: {status}", shell_line(flags));
    Ok(true)
}

/// Cases of a plan.
#[derive(Debug, clap::Args)]
pub(super) struct Selection {
    /// Name of a built-in plan, or path of a TOML file
    #[arg(long, value_name = "NAME|PATH", value_parser = PlanParser, default_value = "default", help_heading = "Plan")]
    plan: OsString,

    /// Only cases with this text in their section, row, column or name in the answer (`switchcost run --list` shows
    /// them), from the start of a word, in upper or lower case; run also keeps the rows that these are divided by or
    /// subtract
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new(), help_heading = "Plan")]
    filter: Option<String>,
}

impl Selection {
    /// The whole plan.
    pub(super) fn plan(&self) -> anyhow::Result<Plan> {
        if let Some(built_in) = self.plan.to_str().and_then(BuiltIn::named) {
            return built_in.plan();
        }
        let path = Path::new(&self.plan);
        read_plan(path).map_err(|why| BadUsage::new(format!("--plan: {why}")))
    }

    /// Keeps the rows that match the filter and, with `with_needs`, the rows that these are divided by or subtract.
    pub(super) fn retain(&self, rows: &mut Vec<Row>, with_needs: bool) -> anyhow::Result<()> {
        let Some(filter) = &self.filter else {
            return Ok(());
        };
        let wanted = rows.iter().filter(|row| row.matches(filter));
        let mut wanted: HashSet<Place> = wanted.map(|row| row.place.cell()).collect();
        if wanted.is_empty() {
            return Err(BadUsage::new(format!(
                "--filter: no case has '{filter}' at the start of a word: `switchcost run --list` lists them"
            )));
        }
        if with_needs {
            let needed =
                rows.iter().filter(|row| wanted.contains(&row.place.cell())).flat_map(|own| {
                    let names = own.ties.baseline.iter().chain(&own.ties.versus);
                    names.map(|row| Place { row: row.clone(), ..own.place.cell() })
                });
            let needed: Vec<Place> = needed.collect();
            wanted.extend(needed);
        }
        rows.retain(|row| wanted.contains(&row.place.cell()));
        Ok(())
    }
}

/// A plan of a user, or why it cannot be followed.
fn read_plan(path: &Path) -> Result<Plan, String> {
    let text = replace::read(path).map_err(|e| {
        let names: Vec<&str> = BUILT_IN.iter().map(|plan| plan.name).collect();
        let names = names.join(", ");
        format!("cannot read {}: {e}; the built-in plans are {names}", path.display())
    })?;
    let plan = Plan::parse(&text).map_err(|e| format!("{}: {e:#}", path.display()))?;
    plan.with_paths_from(path.parent().unwrap_or(path))
}

/// Takes any text, and lets the help and the shells name the built-in plans.
#[derive(Clone, Copy)]
struct PlanParser;

impl TypedValueParser for PlanParser {
    type Value = OsString;

    fn parse_ref(
        &self,
        command: &clap::Command,
        arg: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<OsString, clap::Error> {
        OsStringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(BUILT_IN.iter().map(|plan| PossibleValue::new(plan.name).help(plan.help()))))
    }
}

/// Most results of a folder that are looked into.
const MOST_RESULTS: usize = 20;

/// Results in a folder, the newest first. What is no plain file, such as a FIFO, is not looked into.
pub(crate) fn newest_first(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut dated: Vec<_> = files
        .filter_map(|file| {
            let name = file.file_name();
            let name = name.to_str()?;
            let ending = name.strip_suffix(".gz").unwrap_or(name);
            let is_ours = name.starts_with("switchcost-") && ending.ends_with(".jsonl");
            let facts =
                fs::metadata(file.path()).ok().filter(|facts| is_ours && facts.is_file())?;
            Some((facts.modified().ok()?, file.path()))
        })
        .collect();
    dated.sort_unstable();
    dated.into_iter().rev().map(|(_, path)| path).take(MOST_RESULTS).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;

    use super::*;

    #[test]
    fn results_are_plain_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("switchcost-a.jsonl"), "").unwrap();
        fs::write(path("other.jsonl"), "").unwrap();
        fs::create_dir(path("switchcost-b.jsonl")).unwrap();
        mkfifo(&path("switchcost-c.jsonl"), Mode::S_IRWXU).unwrap();
        symlink("nowhere", path("switchcost-d.jsonl")).unwrap();
        fs::write(path("switchcost-e.jsonl.gz"), "").unwrap();
        let plain = ["switchcost-e.jsonl.gz", "switchcost-a.jsonl"].map(path);
        assert_eq!(newest_first(folder.path()), plain);
    }
}
