//! Doubts: what makes figures less sure, each with its sentence. Every view says them in these words.

use std::cmp::Ordering;
use std::fmt;
use std::mem::discriminant;

use contract::units::{Bytes, Nanos};
use facts::{Memory, Record, Timing};
use serde::Serialize;
use stats::MIN_ROUNDS;

use super::evidence::Verdict;
use super::number::percent;
use super::provenance::{self, Fact};
use super::runs::Runs;
use super::{Figure, Figures, Outcome, grouped};
use crate::measure::quiet::Disturbance;

/// Something that makes figures less sure. The greater of two of a kind is the worse one.
#[derive(Clone, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// Records of different machines are taken for one set: facts that differ.
    OtherMachine(Vec<Fact>),
    /// Records of different builds are.
    OtherBuild(Vec<Fact>),
    /// Too few slices of rows of the answer were quiet: all of them count.
    FewQuiet {
        /// The rows; none for all.
        rows: Vec<String>,
        /// Share that was quiet, of all slices.
        share: f64,
        /// What disturbed most of the others.
        cause: Disturbance,
    },
    /// Other programs used the CPUs; the share of their time.
    Busy(f64),
    /// The host took time of the CPUs; the share.
    Stolen(f64),
    /// Two equal runs differed by this share.
    Unsteady(f64),
    /// Work that depends on the machine alone took longer or shorter at the end: its name and the change.
    Drift(String, f64),
    /// The kernel's share of a row's memory could not be told from what others did; the row.
    NoKernelShare(String),
    /// The sources had changes since their revision.
    ChangedSources,
    /// The programs were built without optimisation.
    Unoptimised,
    /// An event was not counted, and why.
    NotCounted(String),
    /// The counters contradict what a figure is called.
    Contradicted(Verdict),
    /// The processes fall into two groups.
    TwoModes,
    /// There are too few processes for an interval; so many fewer than it takes.
    FewRounds(usize),
    /// Too few slices of a case were quiet, so that all count; the share that was not quiet.
    AllSlices(f64),
    /// The last third of the iterations differs from the first by this share.
    NotSteady(f64),
    /// A sample is shorter than a thousand steps of the clock, in ns; the sample, in ns.
    ShortSamples(u64, u64),
    /// Involuntary switches per creation.
    Preempted(f64),
    /// The generator of arrivals was late by this share of the figure.
    GeneratorLate(f64),
    /// The host took this share of a measurement.
    HostTook(f64),
    /// A CPU quota stopped a process for so long, in ns.
    Throttled(u64),
    /// So many bytes are in transparent huge pages.
    HugePages(u64),
    /// A cache line's round trip before and after a run, in ns.
    CacheLineMoved(f64, f64),
    /// Processes were left running: their names.
    LeftBehind(String),
    /// Several chains were at work on more CPUs than anybody has checked; their number.
    Unvalidated(usize),
    /// A file of the kernel's could not be read.
    Unreadable(&'static str),
}

/// CPUs on which figures of several chains were validated: docs/findings/cores.md.
const VALIDATED: usize = 2;

/// Share of a figure from which the generator's lateness is a doubt.
const GENERATOR_LATE: f64 = 0.05;

impl Doubt {
    /// True if it is about records that should not have been put together: it precedes every figure.
    pub fn is_loud(&self) -> bool {
        matches!(self, Doubt::OtherMachine(_) | Doubt::OtherBuild(_))
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let facts =
            |facts: &[Fact]| facts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Doubt::OtherMachine(differ) => {
                write!(f, "!! DIFFERENT MACHINES OR SETTINGS ARE POOLED HERE: {}", facts(differ))
            }
            Doubt::OtherBuild(differ) => {
                write!(f, "!! DIFFERENT BUILDS ARE POOLED HERE: {}", facts(differ))
            }
            Doubt::FewQuiet { rows, share, cause } => {
                if rows.is_empty() {
                    let quiet = percent(*share);
                    write!(
                        f,
                        "Do not trust these figures: the machine was quiet in {quiet} of the slices only. "
                    )?;
                } else {
                    let rows = rows.join("', '");
                    write!(f, "Do not trust '{rows}': too few slices were quiet. ")?;
                }
                f.write_str(match cause {
                    Disturbance::Slow => {
                        "The CPUs were slower than they can be: a busy neighbour on the same core, or a changed clock."
                    }
                    Disturbance::Stolen => "The host took CPU time.",
                    Disturbance::Others => "Other programs used the CPUs.",
                })
            }
            Doubt::Busy(share) => write!(
                f,
                "This machine was busy: other programs used {} of its CPU time.",
                percent(*share)
            ),
            Doubt::Stolen(share) => write!(f, "The host took {} of the CPU time.", percent(*share)),
            Doubt::Unsteady(apart) => {
                write!(
                    f,
                    "This machine was unsteady: two equal runs differed by {}.",
                    percent(*apart)
                )
            }
            Doubt::Drift(name, change) => write!(
                f,
                "This machine changed: {name} took {} {} in the last round than in the first.",
                percent(change.abs()),
                longer(*change)
            ),
            Doubt::NoKernelShare(row) => write!(
                f,
                "'{row}' is the memory of the process alone: others changed the kernel's too much meanwhile."
            ),
            Doubt::ChangedSources => f.write_str("The sources were changed since their revision."),
            Doubt::Unoptimised => f.write_str("The programs were built without optimisation."),
            Doubt::NotCounted(what) => write!(f, "Not counted: {what}."),
            Doubt::Contradicted(verdict) => write!(f, "{verdict}."),
            Doubt::TwoModes => f.write_str(
                "The processes fall into two groups: both are shown, since no mean describes them.",
            ),
            Doubt::FewRounds(missing) => write!(
                f,
                "No interval: it takes {MIN_ROUNDS} rounds, and there are {}.",
                MIN_ROUNDS - missing
            ),
            Doubt::AllSlices(share) => {
                write!(f, "{} of the slices were disturbed, so all count.", percent(*share))
            }
            Doubt::NotSteady(change) => write!(
                f,
                "Not steady: the last third of the iterations took {} {} than the first; repeat it, or try a larger --warmup.",
                percent(change.abs()),
                longer(*change)
            ),
            Doubt::ShortSamples(step, shortest) => write!(
                f,
                "Short samples: {} is less than 1000 steps of the clock, {}; more --tasks make them longer.",
                Nanos(*shortest as f64),
                Nanos(*step as f64)
            ),
            Doubt::Preempted(each) => {
                write!(f, "Preempted: {each:.2} involuntary switches per creation.")
            }
            Doubt::GeneratorLate(share) => write!(
                f,
                "The generator of arrivals was late itself, by {} of the figure (99th percentile).",
                percent(*share)
            ),
            Doubt::HostTook(share) => {
                write!(f, "The hypervisor gave {} of the measurement to others.", percent(*share))
            }
            Doubt::Throttled(ns) => {
                write!(f, "A CPU quota (cpu.max) stopped the process for {}.", Nanos(*ns as f64))
            }
            Doubt::HugePages(bytes) => write!(
                f,
                "{} are in transparent huge pages: memory per task means little.",
                Bytes(*bytes)
            ),
            Doubt::CacheLineMoved(before, after) => write!(
                f,
                "A cache line took {} to another CPU and back before the run, and {} after it: the host moves virtual CPUs; repeat it.",
                Nanos(*before),
                Nanos(*after)
            ),
            Doubt::LeftBehind(names) => write!(
                f,
                "It, or a program beside it, left processes running, which were ended: {names}."
            ),
            Doubt::Unvalidated(cpus) => {
                write!(
                    f,
                    "Several chains at once are validated on {VALIDATED} CPUs, and here are {cpus}."
                )
            }
            Doubt::Unreadable(file) => {
                write!(f, "{file} cannot be read: what it tells is unknown.")
            }
        }
    }
}

fn longer(change: f64) -> &'static str {
    if change > 0.0 { "longer" } else { "shorter" }
}

/// Doubts about one process.
pub fn of_process(record: &Record) -> Vec<Doubt> {
    let all = [
        few_quiet_slices(record),
        not_steady(record),
        short_samples(record),
        preempted(record),
        generator_late(record),
        host_took(record),
        record.interference.and_then(|i| i.throttled).filter(|&ns| ns > 0).map(Doubt::Throttled),
        huge_pages(record),
        cache_line_moved(record),
        record.left_behind.clone().map(Doubt::LeftBehind),
        unvalidated(record),
    ];
    all.into_iter().flatten().chain(unreadable(record)).collect()
}

fn few_quiet_slices(record: &Record) -> Option<Doubt> {
    let disturbed = record.quiet.iter().filter(|quiet| !**quiet).count();
    let share = disturbed as f64 / record.quiet.len() as f64;
    matches!(record.timing, Timing::AllSlices(_)).then_some(Doubt::AllSlices(share))
}

/// Quiet slices have next to no stolen time.
fn host_took(record: &Record) -> Option<Doubt> {
    let is_quiet = matches!(record.timing, Timing::Slices(_));
    record.stolen().filter(|&share| share > 0.01 && !is_quiet).map(Doubt::HostTook)
}

fn not_steady(record: &Record) -> Option<Doubt> {
    let thirds = record.samples.as_ref()?.thirds.filter(|thirds| !thirds.is_steady())?;
    Some(Doubt::NotSteady(thirds.change()))
}

fn short_samples(record: &Record) -> Option<Doubt> {
    let (shortest, step) = (record.samples.as_ref()?.min, record.machine().clock_step_ns?);
    let is_latency = record.arrivals.is_some();
    (!is_latency && shortest < step.saturating_mul(1000))
        .then_some(Doubt::ShortSamples(step, shortest))
}

/// A creation's own switches; those of a hop are its evidence.
fn preempted(record: &Record) -> Option<Doubt> {
    let (times, _) = record.timed().filter(|(_, unit)| *unit != "hop")?;
    let each = record.usage?.involuntary_switches as f64 / times as f64;
    // Under a load who arrives may preempt who runs.
    (record.arrivals.is_none() && each > 0.01).then_some(Doubt::Preempted(each))
}

/// Lateness of what makes the arrivals, which is part of each latency.
fn generator_late(record: &Record) -> Option<Doubt> {
    let late = record.extra.get("generator_late")?.p99 as f64;
    let share = late / record.iteration()?;
    (share > GENERATOR_LATE).then_some(Doubt::GeneratorLate(share))
}

fn unvalidated(record: &Record) -> Option<Doubt> {
    let cpus = record.cpu_count().filter(|&cpus| cpus > VALIDATED && record.chains > 1);
    cpus.map(Doubt::Unvalidated)
}

fn huge_pages(record: &Record) -> Option<Doubt> {
    record.memory?.held?.huge.filter(|&bytes| bytes > 0).map(Doubt::HugePages)
}

fn cache_line_moved(record: &Record) -> Option<Doubt> {
    let line = record.cache_line.filter(|line| line.ratio().is_some_and(|ratio| ratio > 2.0))?;
    Some(Doubt::CacheLineMoved(line.before?, line.after?))
}

fn unreadable(record: &Record) -> impl Iterator<Item = Doubt> {
    // If tasks were not held there is a peak alone.
    let was_held = |memory: &Memory| memory.resident.is_some() || memory.peak_resident.is_none();
    let held = record.memory.and_then(|memory| memory.held).filter(was_held);
    let files = [
        ("/proc/PID/smaps_rollup", held.is_some_and(|memory| memory.resident.is_none())),
        ("/proc/meminfo", held.is_some_and(|memory| memory.system_slab.is_none())),
        ("/proc/stat", record.interference.is_some_and(|i| i.steal.is_none())),
    ];
    files.into_iter().filter(|(_, is_missing)| *is_missing).map(|(file, _)| Doubt::Unreadable(file))
}

/// Doubts about a figure: its own, and those that more than half of its processes share, the middle one of each
/// kind.
pub(super) fn of_figure(runs: &Runs<'_>, outcome: &Outcome) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    if let Outcome::Measured(reading) = outcome {
        let verdict = reading.evidence.as_ref().map(|evidence| evidence.verdict);
        let verdict = verdict.filter(|verdict| verdict.is_contradiction());
        doubts.extend(verdict.map(Doubt::Contradicted));
        doubts.extend(reading.modes.map(|_| Doubt::TwoModes));
        let missing = MIN_ROUNDS.saturating_sub(reading.means.len());
        doubts.extend((missing > 0).then_some(Doubt::FewRounds(missing)));
    }
    // A further column is of the same processes.
    if runs.is_further() {
        return doubts;
    }
    let all = runs.whole.iter().flat_map(|record| of_process(record));
    for (_, mut shared) in grouped(all.map(|doubt| (discriminant(&doubt), doubt))) {
        if 2 * shared.len() > runs.whole.len() {
            shared.sort_by(|a, b| a.partial_cmp(b).unwrap_or(Ordering::Equal));
            doubts.push(shared.swap_remove(shared.len() / 2));
        }
    }
    doubts
}

/// Doubts about records as a set.
pub fn of_records(records: &[Record]) -> Vec<Doubt> {
    let runs = provenance::runs(records);
    let first = &runs[..runs.len().min(1)];
    let mut builds = provenance::differing_builds(first, &runs);
    // Of itself it makes no other build; it is a doubt of its own.
    builds.retain(|fact| fact.name != "dirty");
    let machines = provenance::differing_machines(first, &runs);
    let absent = records.iter().flat_map(|record| record.counters.iter().flat_map(|c| &c.absent));
    let absent = provenance::distinct(absent.map(ToString::to_string)).into_iter();
    let all = [
        (!machines.is_empty(), Doubt::OtherMachine(machines)),
        (!builds.is_empty(), Doubt::OtherBuild(builds)),
        (runs.iter().any(|run| run.build.dirty == Some(true)), Doubt::ChangedSources),
        (runs.iter().any(|r| r.build.profile.as_deref() == Some("debug")), Doubt::Unoptimised),
    ];
    let all = all.into_iter().filter(|(is_there, _)| *is_there).map(|(_, doubt)| doubt);
    all.chain(absent.map(Doubt::NotCounted)).collect()
}

/// Doubts about figures, the worst of each kind with the names of its cases; `None` for all cases.
pub fn of_figures(figures: &Figures<'_>) -> Vec<(Doubt, Option<String>)> {
    let has_own = |figure: &&Figure<'_>| !figure.runs.whole.is_empty() && !figure.runs.is_further();
    let all = figures.iter().filter(has_own).count();
    let of_each = figures.iter().flat_map(|f| f.doubts.iter().map(move |doubt| (f, doubt)));
    let kinds = grouped(of_each.map(|(f, doubt)| (discriminant(doubt), (f, doubt.clone()))));
    let named = kinds.into_iter().filter_map(|(_, cases)| {
        let (cases, doubts): (Vec<&Figure<'_>>, Vec<Doubt>) = cases.into_iter().unzip();
        let names = (cases.len() < all).then(|| names(&cases));
        let worse = |a: Doubt, b: Doubt| if b > a { b } else { a };
        Some((doubts.into_iter().reduce(worse)?, names))
    });
    named.collect()
}

/// Names of figures; points of one curve share a name.
pub fn names(figures: &[&Figure<'_>]) -> String {
    let named = figures.iter().map(|figure| match figure.swept() {
        Some((flag, x)) => (format!("{}, {flag} ", figure.key.name()), x.to_string()),
        None => (figure.key.name(), String::new()),
    });
    let names = grouped(named).into_iter().map(|(name, xs)| name + &xs.join(", "));
    names.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use contract::samples::Recorder;

    use super::*;
    use crate::testing;

    /// Latencies of 10 µs by a generator that was so many ns late.
    fn under_load(late: u64) -> Record {
        let mut record = testing::record("p", 1, &[10_000; 9]);
        record.arrivals = Some(5000);
        let late = [late; 5].into_iter().collect::<Recorder>().distribution().unwrap();
        record.extra.insert("generator_late".to_owned(), late);
        record
    }

    #[test]
    fn a_generator_that_is_late_by_a_twentieth_of_the_figure_is_a_doubt() {
        assert_eq!(of_process(&under_load(500)), []);
        let doubts = of_process(&under_load(501));
        assert!(matches!(doubts[..], [Doubt::GeneratorLate(share)] if share > 0.05), "{doubts:?}");
    }

    #[test]
    fn chains_on_more_cpus_than_were_checked_are_a_doubt() {
        for (chains, cpus, is_doubt) in [(4, "0-1", false), (1, "0-7", false), (2, "0-7", true)] {
            let mut record = testing::record("p", 1, &[10_000; 9]);
            record.chains = chains;
            record.cpus = Some(cpus.to_owned());
            assert_eq!(of_process(&record).contains(&Doubt::Unvalidated(8)), is_doubt);
        }
    }

    #[test]
    fn a_latency_is_neither_too_short_nor_preempted() {
        let mut record = under_load(0);
        let usage = contract::message::Usage { involuntary_switches: 900, ..Default::default() };
        record.usage = Some(usage);
        let machine = facts::Machine { clock_step_ns: Some(20), ..facts::Machine::default() };
        std::sync::Arc::make_mut(&mut record.header).machine = machine;
        assert_eq!(of_process(&record), []);
        record.arrivals = None;
        let doubts = of_process(&record);
        let expected = [Doubt::ShortSamples(20, 10_000), Doubt::Preempted(100.0)];
        assert_eq!(doubts, expected);
    }
}
