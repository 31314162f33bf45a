//! Results that an estimate is made of: a file that is named, the newest of this folder, or a short run.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{anyhow, bail};
use facts::{Link, Machine, Record};

use crate::figures::grade::Grade;
use crate::figures::{Figures, provenance};
use crate::measure::campaign::quick;
use crate::measure::store;
use crate::plan::Plan;
use crate::system::console::{self, BadUsage};
use crate::system::signals;
use crate::verbs::args::newest_first;
use crate::views::answer::Answer;
use crate::views::estimate::Load;
use crate::views::hand_over::{self, Cost, Range, Scheduler};

/// Most files of a folder that are looked into.
const MOST_FILES: usize = 12;

/// File that figures are from.
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) is_new: bool,
    /// Machine, kernel and runtimes, for people.
    pub(super) title: String,
    pub(super) machine: Machine,
}

/// Figures that an estimate needs.
pub(super) struct Wanted<'a> {
    pub(super) load: &'a Load,
    /// True if it needs the costs of hand-overs.
    pub(super) costs: bool,
    /// True if it needs the sizes of tasks.
    pub(super) sizes: bool,
}

/// Figures that were found, each with its file.
#[derive(Default)]
pub(super) struct Found {
    /// Hand-overs of threads, and of tasks.
    pub(super) costs: Option<([Cost; 2], Source)>,
    /// Bytes of a waiting thread, and of a task.
    pub(super) sizes: Option<(([Range; 2], Grade), Source)>,
}

impl Wanted<'_> {
    /// Finds the figures: in the named file, or in the newest of this folder that have them and are of this machine,
    /// or by short runs, which are kept there.
    pub(super) fn find(&self, named: Option<&Path>) -> anyhow::Result<Found> {
        let here = facts::machine::read();
        let is_here = |records: &[Record]| {
            records.first().is_some_and(|r| r.machine().same_machine(&here).is_empty())
        };
        let mut found = Found::default();
        if let Some(path) = named {
            if !path.exists() && path.to_string_lossy().ends_with("/s") {
                return Err(BadUsage::new(format!(
                    "there is no file {}: a rate is one word, such as --switches 30000/s",
                    path.display()
                )));
            }
            let contents = store::read(path)?;
            store::tell(path, &contents);
            self.take(path, false, &contents.records, &mut found);
            if let Some(what) = self.missing(&found) {
                return Err(BadUsage::new(format!(
                    "{} lacks figures of {what}: without a file, the newest of this folder are used, and what they \
                     lack is measured for 15 s",
                    path.display()
                )));
            }
            if !is_here(&contents.records) {
                let machine = provenance::machines(&contents.records);
                console::say(format_args!("{} is of another machine: {machine}", path.display()));
            }
            return Ok(found);
        }
        for path in newest_first(Path::new(".")).into_iter().take(MOST_FILES) {
            if self.missing(&found).is_none() {
                break;
            }
            // Sweeps and duels leave files of the same name.
            let Ok(contents) = store::read(&path) else { continue };
            let path = path.strip_prefix(".").unwrap_or(&path);
            if !is_here(&contents.records) {
                continue;
            }
            if is_part(&contents.records) {
                console::say(format_args!("{} was interrupted: it is passed over", path.display()));
                continue;
            }
            self.take(path, false, &contents.records, &mut found);
        }
        while let Some(what) = self.missing(&found) {
            let (path, records) = measured(what, self.plan(&found)?)?;
            self.take(&path, true, &records, &mut found);
            if self.missing(&found) == Some(what) {
                // A limit that refused a row, say.
                let figures = Figures::of(&records);
                let cause = figures.iter().find_map(|figure| {
                    Some((figure.key.name(), figure.outcome.reason()?.to_owned()))
                });
                if let Some((row, reason)) = cause {
                    bail!("there are no figures of {what}: {row}: {reason}");
                }
                bail!(
                    "15 s were too short for {what}: `switchcost run`, or with --plan links, takes longer"
                );
            }
        }
        Ok(found)
    }

    /// Takes the figures that are still missing from records.
    fn take(&self, path: &Path, is_new: bool, records: &[Record], found: &mut Found) {
        let source = || {
            let (path, machine) = (path.to_owned(), records.first()?.machine().clone());
            Some(Source { path, is_new, title: provenance::machine(records), machine })
        };
        if self.costs && found.costs.is_none() {
            let costs = hand_over::costs(records, self.load.links(), self.load.scheduler);
            found.costs = costs.and_then(|costs| Some((costs, source()?)));
        }
        if self.sizes && found.sizes.is_none() {
            let sizes = Answer::of(&Figures::of(records)).and_then(|answer| answer.sizes());
            found.sizes = sizes.and_then(|sizes| Some((sizes, source()?)));
        }
    }

    /// What is missing first.
    fn missing(&self, found: &Found) -> Option<&'static str> {
        if self.costs && found.costs.is_none() {
            return Some(self.load.hand_overs());
        }
        (self.sizes && found.sizes.is_none()).then_some("memory")
    }

    /// The plan that measures it.
    fn plan(&self, found: &Found) -> anyhow::Result<Plan> {
        if self.costs && found.costs.is_none() {
            plan(self.load.link, self.load.scheduler)
        } else {
            Plan::sizes()
        }
    }
}

/// True if a run was interrupted, and nobody has gone on with it: its figures are of a part.
fn is_part(records: &[Record]) -> bool {
    let place = |r: &Record| (r.run, r.round, r.case, r.x, r.twin, r.side);
    let whole: HashSet<_> = records.iter().filter(|r| r.is_whole()).map(place).collect();
    records.iter().any(|record| record.partial && !whole.contains(&place(record)))
}

/// Records of a short run of a plan, and their file.
fn measured(what: &str, plan: Plan) -> anyhow::Result<(PathBuf, Vec<Record>)> {
    console::say(format_args!(
        "no results in this folder have figures of {what} on this machine: measuring them, in 15 s or in five rounds \
         if these take longer"
    ));
    let measured = quick(plan).map_err(|e| match e.downcast_ref::<io::Error>() {
        Some(cause) if is_refused(cause) => anyhow!(
            "cannot keep them in this folder ({cause}): go to a folder that you may write to, or name a file of results"
        ),
        _ => e,
    });
    if signals::received().is_none() {
        return measured;
    }
    let part = measured.map(|(path, _)| {
        format!(": the part is kept in {}, and used if it is named", path.display())
    });
    bail!("interrupted while it measured{}", part.unwrap_or_default())
}

/// True if a folder takes no new file.
fn is_refused(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem)
}

/// Plan that has the hand-overs of threads and of tasks over a link, in one session; of a service's, the default one.
fn plan(link: Option<Link>, scheduler: Scheduler) -> anyhow::Result<Plan> {
    match (link, scheduler) {
        (None, _)
        | (Some(Link::Pipe), Scheduler::Multi)
        | (Some(Link::Memory), Scheduler::CurrentThread) => Plan::built_in(),
        (Some(link), _) => Plan::links(link),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_of_a_load_has_its_threads_and_its_tasks() {
        for link in [Link::Pipe, Link::Tcp, Link::Memory] {
            for (scheduler, flavor) in
                [(Scheduler::Multi, "multi-thread"), (Scheduler::CurrentThread, "current-thread")]
            {
                let plan = plan(Some(link), scheduler).unwrap();
                let rows = plan.sections.iter().flat_map(|section| &section.rows);
                let kinds = rows.filter(|row| row.link == Some(link)).map(|row| {
                    match row.flags.iter().position(|flag| flag == "--flavor") {
                        Some(at) => row.flags[at + 1].as_str(),
                        None if row.program == "async-mem-brigade" => "current-thread",
                        None if row.program == "async-brigade" => "multi-thread",
                        None => "threads",
                    }
                });
                let kinds: Vec<&str> = kinds.collect();
                assert!(
                    kinds.contains(&flavor) && kinds.contains(&"threads"),
                    "{link:?} {kinds:?}"
                );
            }
        }
    }
}
