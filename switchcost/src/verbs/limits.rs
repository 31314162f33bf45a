//! `switchcost limits`: what each limit of this system allows, and how to raise it.

use ::limits::Limits;
use anyhow::ensure;
use contract::message::Needs;
use figures::unique;
use host::units::counted;
use record::Setting;

use crate::measure::{needs, probe};
use crate::plan::programs::Programs;
use crate::plan::values;
use crate::plan::{BUILT_IN, BuiltIn, Plan, built_in_tables};
use crate::system::console::shortened;
use crate::system::signals;
use crate::verbs::args::shows_help;
use crate::verbs::output::{self, Format};
use crate::views::limits::{self, ProgramRow};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Check whether each program can have this many tasks, and exit with status 1 if one cannot. Without the flag, the
    /// commands in the output make room for twice as many tasks as each program can have now
    #[arg(long, value_name = "N", allow_hyphen_values = true, value_parser = values::tasks, conflicts_with = "command")]
    tasks: Option<u64>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Check only this command line: the name or path of a program, and its flags [default: all programs]
    #[arg(value_name = "PROGRAM [FLAGS]", trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

const INTERRUPTED: &str = "interrupted before all programs were asked";

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let limits = Limits::read();
    ensure!(limits.are_known(), "cannot read any limit of this system: is /proc mounted?");
    // A signal ends the program that is being asked, too.
    signals::install()?;
    let (asked, tasks) = match args.command.split_first() {
        None => (ask_all()?, args.tasks),
        Some((program, flags)) => {
            let programs = Programs::up_to_date([program.as_str()], &built_in_tables()?)?;
            let executable = programs.named(program)?;
            if shows_help(executable, flags)? {
                return Ok(());
            }
            let description = probe::describe(executable, flags, &Setting::default());
            ensure!(signals::received().is_none(), INTERRUPTED);
            let description = description?;
            let needs = needs::of(executable, flags, &description);
            let asked = (shortened(&description.program), needs);
            (vec![asked], Some(description.tasks))
        }
    };
    ensure!(signals::received().is_none(), INTERRUPTED);
    let report = limits::check(&limits, &asked, tasks);
    output::print(&report, args.format)?;
    let Some(tasks) = tasks else {
        return Ok(());
    };
    let silent = names(&report.programs, |row| row.error.is_some());
    ensure!(silent.is_empty(), "these programs could not be asked: {silent}");
    let failed = names(&report.programs, |row| row.fits == Some(false));
    ensure!(
        failed.is_empty(),
        "{}: this system does not allow that many for {failed}",
        counted(tasks, "task")
    );
    Ok(())
}

fn names(rows: &[ProgramRow], is_meant: fn(&ProgramRow) -> bool) -> String {
    let rows = rows.iter().filter(|row| is_meant(row));
    rows.map(|row| row.program.as_str()).collect::<Vec<_>>().join(", ")
}

/// Needs of every installed program of the built-in plans, with its default flags, in the plans' order.
fn ask_all() -> anyhow::Result<Vec<(String, Result<Needs, String>)>> {
    let plans: Vec<Plan> = BUILT_IN.iter().map(BuiltIn::plan).collect::<anyhow::Result<_>>()?;
    let names = unique(plans.iter().flat_map(Plan::rows).map(|row| row.command.program));
    let mut tables = built_in_tables()?;
    // A question builds no peer.
    tables.values_mut().for_each(|table| table.build.clear());
    let programs = Programs::up_to_date(names.iter().map(String::as_str), &tables)?;
    let present =
        names.into_iter().filter(|name| programs.named(name).is_ok() || !tables.contains_key(name));
    let asked = present.map(|name| {
        let needs = programs.named(&name).and_then(|program| {
            let description = probe::describe(program, &[], &Setting::default())?;
            needs::of(program, &[], &description).map_err(anyhow::Error::msg)
        });
        (name, needs.map_err(|e| format!("{e:#}")))
    });
    Ok(asked.collect())
}
