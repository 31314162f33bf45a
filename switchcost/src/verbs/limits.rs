//! `switchcost limits`: what every limit of this system allows, and what raises it.

use std::collections::BTreeSet;
use std::io::Write;

use anyhow::{Context, bail};
use contract::message::Description;
use facts::limits::{Limits, Raised, Refused, Shortage};
use serde::Serialize;

use crate::measure::probe;
use crate::plan::programs::Programs;
use crate::plan::{BUILT_IN, built_in_tables};
use crate::render;
use crate::system::console;
use crate::verbs::args::TextOrJson;
use crate::views::doctor::{self, Asked};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Check so many tasks, and end with status 1 where some program cannot hold them. Without it the
    /// commands make room for twice as many as each program may have now
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    tasks: Option<u32>,

    /// Raise the kernel parameters that are too low for PROGRAM, which takes root, and print the
    /// commands that put them back
    #[arg(long, requires = "command")]
    apply: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = TextOrJson::Text)]
    format: TextOrJson,

    /// Check this command line instead of all programs: the name or path of a program, and its flags
    #[arg(value_name = "PROGRAM [FLAGS]", trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let limits = Limits::read();
    let (asked, tasks) = match args.command.split_first() {
        None => (ask_all()?, args.tasks.map(u64::from)),
        Some((program, flags)) => {
            let description = describe(program, flags, args.tasks)?;
            if args.apply {
                return apply(&limits, &description, args.format);
            }
            let asked = (description.program, Ok(description.needs));
            (vec![asked], Some(description.tasks))
        }
    };
    let checkup = doctor::check(&limits, &asked, tasks);
    console::print(|out| match args.format {
        TextOrJson::Text => render::limits::text(&checkup, render::limits::width(), out),
        TextOrJson::Json => {
            serde_json::to_writer(&mut *out, &checkup)?;
            writeln!(out)
        }
    })
    .context("cannot print the limits")?;
    let failed: Vec<&str> = checkup.too_many_for().collect();
    let silent: Vec<&str> = checkup.not_asked().collect();
    if tasks.is_some() && !silent.is_empty() {
        bail!("it is not known whether these can: {}", silent.join(", "));
    }
    match tasks {
        Some(tasks) if !failed.is_empty() => {
            bail!("{tasks} tasks are more than this system allows for {}", failed.join(", "))
        }
        _ => Ok(()),
    }
}

/// The programs of the built-in plans, in their order there.
fn names() -> anyhow::Result<Vec<String>> {
    let mut seen = BTreeSet::new();
    let mut names = Vec::new();
    for plan in BUILT_IN {
        let cases = plan.plan()?.cases(true).into_iter();
        let programs = cases.map(|case| case.program);
        names.extend(programs.filter(|name| seen.insert(name.clone())));
    }
    Ok(names)
}

/// Needs of every benchmark that is here, with its usual flags.
fn ask_all() -> anyhow::Result<Vec<Asked>> {
    let names = names()?;
    let mut tables = built_in_tables()?;
    // A question builds no peer.
    tables.values_mut().for_each(|table| table.build.clear());
    let programs = Programs::find(names.iter().map(String::as_str), &tables)?;
    let present = names
        .into_iter()
        .filter(|name| programs.executable(name).is_ok() || !tables.contains_key(name));
    Ok(present.map(|name| ask(name, &programs)).collect())
}

fn ask(name: String, programs: &Programs) -> Asked {
    let needs = programs
        .executable(&name)
        .and_then(|program| Ok(probe::describe(program, &[])?.needs))
        .map_err(|e| format!("{e:#}"));
    (name, needs)
}

/// Description of a program's command line, with `tasks` in front of its flags where it is given.
fn describe(program: &str, flags: &[String], tasks: Option<u32>) -> anyhow::Result<Description> {
    let programs = Programs::up_to_date([program], &built_in_tables()?)?;
    let tasks = tasks.into_iter().flat_map(|n| ["--tasks".to_owned(), n.to_string()]);
    let flags: Vec<String> = tasks.chain(flags.iter().cloned()).collect();
    probe::describe(programs.executable(program)?, &flags)
}

/// Outcome of `--apply`.
#[derive(Serialize)]
struct Outcome<'a> {
    raised: Vec<&'a Raised>,
    refused: &'a [Refused],
    /// Commands for the shell that starts the program: resource limits belong to it.
    in_the_shell: Vec<&'a str>,
    put_back: Vec<String>,
}

/// Raises what is too low for a command line.
fn apply(limits: &Limits, description: &Description, format: TextOrJson) -> anyhow::Result<()> {
    let (program, tasks) = (&description.program, description.tasks);
    let report = limits.report(&description.needs, tasks);
    let applied = limits.apply(&report);
    let (whole_system, own): (Vec<&Raised>, Vec<&Raised>) =
        applied.raised.iter().partition(|raised| raised.whole_system);
    let is_own = |short: &&Shortage| own.iter().any(|raised| raised.name == short.limit.name);
    let own = report.shortages.iter().filter(is_own);
    let outcome = Outcome {
        raised: whole_system,
        refused: &applied.refused,
        in_the_shell: own.filter_map(|short| short.remedy.command.as_deref()).collect(),
        put_back: applied.undo,
    };
    console::print(|out| match format {
        TextOrJson::Text => outcome.write(program, tasks, out),
        TextOrJson::Json => {
            serde_json::to_writer(&mut *out, &outcome)?;
            writeln!(out)
        }
    })
    .context("cannot print the limits")?;
    if !applied.refused.is_empty() {
        bail!("limits are still too low for {tasks} tasks of {program}");
    }
    Ok(())
}

impl Outcome<'_> {
    fn write(&self, program: &str, tasks: u64, out: &mut impl Write) -> std::io::Result<()> {
        if self.raised.is_empty() && self.refused.is_empty() && self.in_the_shell.is_empty() {
            writeln!(out, "{tasks} tasks of {program} fit: nothing to raise")?;
        }
        for Raised { name, from, to, .. } in &self.raised {
            writeln!(out, "raised {name} from {from} to {to}")?;
        }
        for Refused { name, why } in self.refused {
            writeln!(out, "not raised: {name}: {why}")?;
        }
        for command in &self.in_the_shell {
            writeln!(out, "in the shell that starts {program}: {command}")?;
        }
        for command in &self.put_back {
            writeln!(out, "to put it back, as root: {command}")?;
        }
        Ok(())
    }
}
