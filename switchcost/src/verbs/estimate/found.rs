//! Results that an estimate is made of: a file that is named, the newest of this folder, or a short run.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::vec;

use anyhow::{anyhow, ensure};
use facts::{Link, Machine, Record};

use crate::figures::{Figures, provenance};
use crate::measure::campaign::quick;
use crate::measure::store;
use crate::plan::Plan;
use crate::system::console::{self, BadUsage};
use crate::system::signals;
use crate::verbs::args::newest_first;
use crate::views::answer::Answer;
use crate::views::estimate::{Costs, Load, costs};

/// Most files of a folder that are looked into.
const MOST_FILES: usize = 12;

/// File that figures are from.
pub(super) struct Source {
    pub(super) name: String,
    /// Machine, kernel and runtimes, for people.
    pub(super) title: String,
    pub(super) machine: Machine,
}

/// Files in which figures are looked for.
pub(super) struct Results {
    /// True if the user named it: then nothing is measured.
    is_named: bool,
    files: Vec<(PathBuf, Vec<Record>)>,
    /// Those that were not looked into yet.
    unread: vec::IntoIter<PathBuf>,
}

impl Results {
    /// Reads the file that is named; those of this folder are read as they are asked for.
    pub(super) fn open(named: Option<&Path>) -> anyhow::Result<Self> {
        if let Some(path) = named {
            let contents = store::read(path)?;
            store::tell(path, &contents);
            if !is_here(&contents.records) {
                let machine = provenance::machines(&contents.records);
                console::say(format_args!("{} is of another machine: {machine}", path.display()));
            }
            return Ok(Results {
                is_named: true,
                files: vec![(path.to_owned(), contents.records)],
                unread: Vec::new().into_iter(),
            });
        }
        let mut unread = newest_first(Path::new("."));
        unread.truncate(MOST_FILES);
        Ok(Results { is_named: false, files: Vec::new(), unread: unread.into_iter() })
    }

    /// The file at this place: the one that is named, or of those of this folder that are of this machine.
    fn file(&mut self, place: usize) -> Option<&(PathBuf, Vec<Record>)> {
        while self.files.len() <= place {
            let path = self.unread.next()?;
            // Sweeps and duels leave files of the same name.
            let records = store::read(&path).map_or(Vec::new(), |contents| contents.records);
            let path = path.strip_prefix(".").unwrap_or(&path).to_owned();
            if !is_here(&records) {
                continue;
            }
            if is_part(&records) {
                console::say(format_args!("{} was interrupted: it is passed over", path.display()));
            } else {
                self.files.push((path, records));
            }
        }
        self.files.get(place)
    }

    /// Costs of a hand-over between threads and between tasks.
    pub(super) fn costs(&mut self, load: &Load) -> anyhow::Result<(Costs, Source)> {
        self.find(
            &format!("hand-overs over {}", load.over()),
            || plan(load.link),
            |records| costs(records, load.links()),
        )
    }

    /// Bytes of a waiting thread and of a task.
    pub(super) fn sizes(&mut self) -> anyhow::Result<(Costs, Source)> {
        self.find("memory", Plan::sizes, |records| Answer::of(&Figures::of(records))?.sizes())
    }

    /// Finds figures in the first file that has them, or measures them by a short run of a plan, which is kept in this
    /// folder.
    fn find(
        &mut self,
        what: &str,
        plan: impl FnOnce() -> anyhow::Result<Plan>,
        take: impl Fn(&[Record]) -> Option<Costs>,
    ) -> anyhow::Result<(Costs, Source)> {
        let found = |name: String, records: &[Record]| {
            let machine = records.first()?.machine().clone();
            Some((take(records)?, Source { name, title: provenance::machine(records), machine }))
        };
        for place in 0.. {
            let Some((path, records)) = self.file(place) else { break };
            if let Some(found) = found(path.display().to_string(), records) {
                return Ok(found);
            }
        }
        if self.is_named {
            return Err(BadUsage::new(format!(
                "{} lacks figures of {what}: without a file, the newest of this folder are used, and what they lack is \
                 measured",
                self.files[0].0.display()
            )));
        }
        console::say(format_args!(
            "no results in this folder have figures of {what} on this machine: measuring them, in 15 s or in five \
             rounds if these take longer"
        ));
        let (path, records) = quick(plan()?)?;
        ensure!(
            signals::received().is_none(),
            "interrupted while it measured: the part is kept in {}, and used if it is named",
            path.display()
        );
        found(format!("{}, measured just now", path.display()), &records).ok_or_else(|| {
            let figures = Figures::of(&records);
            let reason = figures.iter().find_map(|figure| figure.outcome.reason());
            let reason =
                reason.unwrap_or("a short run was not enough, `switchcost run` takes longer");
            anyhow!("there are no figures of {what}: {reason}")
        })
    }
}

fn is_here(records: &[Record]) -> bool {
    let here = facts::machine::read();
    records.first().is_some_and(|record| record.machine().same_machine(&here).is_empty())
}

/// True if a run was interrupted, and nobody has gone on with it: its figures are of a part.
fn is_part(records: &[Record]) -> bool {
    let place = |r: &Record| (r.run, r.round, r.case, r.x, r.twin, r.side);
    let whole: HashSet<_> = records.iter().filter(|r| r.is_whole()).map(place).collect();
    records.iter().any(|record| record.partial && !whole.contains(&place(record)))
}

/// Plan that has the hand-overs of threads and of tasks over a link, in one session; of a service's, the default one.
fn plan(link: Option<Link>) -> anyhow::Result<Plan> {
    match link {
        None | Some(Link::Pipe) => Plan::built_in(),
        Some(link) => Plan::links(link),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plan_of_a_load_has_its_threads_and_its_tasks() {
        for link in [Link::Pipe, Link::Tcp, Link::Memory] {
            let plan = plan(Some(link)).unwrap();
            let rows = plan.sections.iter().flat_map(|section| &section.rows);
            let programs = rows.filter(|row| row.link == Some(link)).map(|row| row.program());
            let programs: Vec<&str> = programs.collect();
            for kind in ["thread", "async"] {
                assert!(programs.iter().any(|name| name.starts_with(kind)), "{programs:?}");
            }
        }
    }
}
