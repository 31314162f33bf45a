//! Doubts: what makes figures less sure, each with its sentence. Every view says them in these words.

use std::cmp::Ordering;
use std::fmt;
use std::mem::discriminant;

use contract::units::{Bytes, Nanos};
use facts::{Memory, Metric, Quantity, Record, Run};
use serde::Serialize;
use stats::MIN_ROUNDS;

use super::evidence::{Evidence, Verdict};
use super::grade::Grade;
use super::number::percent;
use super::provenance::{self, Fact};
use super::runs::Runs;
use super::speed::{Corrected, Timed};
use super::{Figure, Outcome, grouped};

/// Something that makes figures less sure, loudest first.
#[derive(Clone, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Doubt {
    /// Records of different machines are taken for one set: facts that differ.
    OtherMachine(Vec<Fact>),
    /// Records of different builds are.
    OtherBuild(Vec<Fact>),
    /// The programs were built without optimisation.
    Unoptimised,
    /// The sources had changes since their revision.
    ChangedSources,
    /// The counters contradict what a figure is called.
    Contradicted(Verdict),
    /// The machine was slower than it can be, and the times were corrected by this share.
    Slowed(f64),
    /// How far a figure depends on the machine's speed is unknown: it may be wrong by this share.
    Uncertain(f64),
    /// In this share of the rounds most slices had time taken by others.
    FewSlices(f64),
    /// The machine was at work when it began: load average, CPUs and the share of the time in which something
    /// waited for a CPU.
    Loaded(f64, usize, f64),
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
    /// An event was not counted, and why.
    NotCounted(String),
    /// The processes fall into two groups.
    TwoModes,
    /// There are too few processes for an interval; so many fewer than it takes.
    FewRounds(usize),
    /// The last third of the iterations differs from the first by this share.
    NotSteady(f64),
    /// A sample is shorter than a thousand steps of the clock, in ns; the sample, in ns.
    ShortSamples(u64, u64),
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

/// Correction of a time, as a share, above which it is disturbed.
const SLOWED: f64 = 0.2;

/// Standard error of the correction, as a share of the time, above which it is.
const UNCERTAIN: f64 = 0.05;

/// Load average per CPU, and share of the time in which something waited for a CPU, from which a run began on a
/// busy machine. A build, or a run, that has just ended leaves a load of one and a third of it.
const LOADED: (f64, f64) = (2.0, 0.5);

impl Doubt {
    /// Worth of a figure that has it.
    pub fn grade(&self) -> Grade {
        match self {
            Doubt::Contradicted(_) => Grade::Contradicted,
            Doubt::Slowed(_)
            | Doubt::Uncertain(_)
            | Doubt::FewSlices(_)
            | Doubt::GeneratorLate(_)
            | Doubt::HostTook(_)
            | Doubt::HugePages(_) => Grade::Disturbed,
            _ => Grade::Sure,
        }
    }

    /// How bad it is, beside another of its kind.
    fn severity(&self) -> f64 {
        match self {
            Doubt::Slowed(share)
            | Doubt::Uncertain(share)
            | Doubt::FewSlices(share)
            | Doubt::Busy(share)
            | Doubt::Stolen(share)
            | Doubt::Unsteady(share)
            | Doubt::GeneratorLate(share)
            | Doubt::HostTook(share) => *share,
            Doubt::Drift(_, change) | Doubt::NotSteady(change) => change.abs(),
            Doubt::Loaded(load, cpus, waiting) => load / *cpus as f64 + waiting,
            Doubt::CacheLineMoved(before, after) => (before / after).ln().abs(),
            Doubt::ShortSamples(step, shortest) => *step as f64 / (*shortest).max(1) as f64,
            Doubt::Throttled(ns) => *ns as f64,
            Doubt::HugePages(bytes) => *bytes as f64,
            Doubt::FewRounds(missing) => *missing as f64,
            _ => 0.0,
        }
    }

    fn worse(self, other: Self) -> Self {
        if other.severity() > self.severity() { other } else { self }
    }

    /// What it is about, if two of a kind with other subjects are two doubts.
    fn subject(&self) -> String {
        match self {
            Doubt::Contradicted(verdict) => verdict.to_string(),
            Doubt::NoKernelShare(text) | Doubt::NotCounted(text) | Doubt::Drift(text, _) => {
                text.clone()
            }
            Doubt::Unreadable(file) => (*file).to_owned(),
            _ => String::new(),
        }
    }

    /// True if the figures are not what they are called: of other sources, programs or machines.
    pub fn voids(&self) -> bool {
        matches!(
            self,
            Doubt::OtherMachine(_)
                | Doubt::OtherBuild(_)
                | Doubt::Unoptimised
                | Doubt::ChangedSources
                | Doubt::Contradicted(_)
        )
    }
}

/// A doubt with the figures that it is about.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stated {
    /// The doubt.
    pub doubt: Doubt,
    /// Names of the figures; none if it is about all.
    pub about: Vec<String>,
}

impl From<Doubt> for Stated {
    fn from(doubt: Doubt) -> Self {
        Stated { doubt, about: Vec::new() }
    }
}

/// Most names that are printed beside a doubt.
const NAMED: usize = 3;

impl Stated {
    /// Its sentence with so many names at most.
    pub fn with_names(&self, most: usize) -> String {
        let (named, others) = self.about.split_at(self.about.len().min(most));
        match others.len() {
            0 if named.is_empty() => self.doubt.to_string(),
            0 => format!("{} ({})", self.doubt, named.join("; ")),
            more => format!("{} ({}; {more} more)", self.doubt, named.join("; ")),
        }
    }
}

impl fmt::Display for Stated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with_names(NAMED))
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
            Doubt::Slowed(share) => write!(
                f,
                "{} The CPUs ran slow: up to {} of a time was subtracted.",
                self.grade(),
                percent(*share)
            ),
            Doubt::Uncertain(share) => write!(
                f,
                "{} The CPUs ran slow by an uncertain amount: a time has a standard error of {}.",
                self.grade(),
                percent(*share)
            ),
            Doubt::FewSlices(share) => write!(
                f,
                "{} Other work took CPU time from most slices in {} of the rounds.",
                self.grade(),
                percent(*share)
            ),
            Doubt::Loaded(load, cpus, waiting) => write!(
                f,
                "It was busy at the start: load average {load:.0} on {cpus} CPUs, CPU pressure {}.",
                percent(*waiting)
            ),
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
                "The machine changed: {name} took {} {} time at the end.",
                percent(change.abs()),
                if *change > 0.0 { "more" } else { "less" }
            ),
            Doubt::NoKernelShare(row) => write!(
                f,
                "'{row}' is the memory of the process alone: others changed the kernel's too much meanwhile."
            ),
            Doubt::ChangedSources => f.write_str("The sources were changed since their revision."),
            Doubt::Unoptimised => f.write_str("The programs were built without optimisation."),
            Doubt::NotCounted(what) => write!(f, "Not counted: {what}."),
            Doubt::Contradicted(verdict) => write!(f, "{} {verdict}.", self.grade()),
            Doubt::TwoModes => f.write_str(
                "The processes fall into two groups: both are shown, since no mean describes them.",
            ),
            Doubt::FewRounds(missing) => write!(
                f,
                "No interval: it takes {MIN_ROUNDS} rounds, and there are {}.",
                MIN_ROUNDS - missing
            ),
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
                "The host moves virtual CPUs: a cache line's round trip took {} before and {} after.",
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
        not_steady(record),
        short_samples(record),
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

/// Of a process that took no turns; others have an account.
fn host_took(record: &Record) -> Option<Doubt> {
    record.stolen().filter(|&share| share > 0.01 && record.slices.is_empty()).map(Doubt::HostTook)
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

/// Lateness of what makes the arrivals, which is part of each latency.
fn generator_late(record: &Record) -> Option<Doubt> {
    let late = record.extra.get("generator_late")?.p99 as f64;
    let share = late / record.samples.as_ref()?.mean;
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
    if runs.metric.follows_iteration() {
        doubts.extend(of_times(&runs.timed()));
    }
    // A further column is of the same processes: it repeats what makes it worth less.
    let is_wanted = |doubt: &Doubt| match doubt {
        Doubt::HugePages(_) => runs.metric.quantity() == Quantity::Bytes,
        doubt => !runs.is_further() || doubt.grade() > Grade::Sure,
    };
    let all = runs.whole.iter().flat_map(|record| of_process(record)).filter(is_wanted);
    for (_, mut shared) in grouped(all.map(|doubt| (discriminant(&doubt), doubt))) {
        if 2 * shared.len() > runs.whole.len() {
            shared.sort_by(|a, b| a.severity().total_cmp(&b.severity()));
            doubts.push(shared.swap_remove(shared.len() / 2));
        }
    }
    doubts
}

/// Doubts about the times of a row of a duel: their correction, and what the counters say.
pub(super) fn of_row(timed: &[&Timed<'_>], metric: &Metric) -> Vec<Doubt> {
    let records: Vec<&Record> = timed.iter().map(|timed| timed.record).collect();
    let evidence = Evidence::of(&records, metric).map(|evidence| evidence.verdict);
    let verdict = evidence.filter(|verdict| verdict.is_contradiction());
    verdict.map(Doubt::Contradicted).into_iter().chain(of_times(timed)).collect()
}

/// Doubts about the correction of the times of some processes.
pub(super) fn of_times(timed: &[&Timed<'_>]) -> Vec<Doubt> {
    let corrected: Vec<&Corrected> = timed.iter().filter_map(|t| t.corrected.as_deref()).collect();
    let median = |of: fn(&Corrected) -> f64| {
        stats::median(&corrected.iter().map(|corrected| of(corrected)).collect::<Vec<_>>())
    };
    let slowed = median(|corrected| corrected.correction).map(|log| -(-log).exp_m1());
    let uncertain = median(|corrected| corrected.uncertainty).map(f64::exp_m1);
    // A round without a slice that counts has no time.
    let took_turns = timed.iter().filter(|timed| !timed.record.slices.is_empty());
    let is_short = |timed: &&&Timed<'_>| timed.corrected.as_ref().is_none_or(|own| own.is_short);
    let short = took_turns.clone().filter(is_short).count();
    let short = short as f64 / took_turns.count().max(1) as f64;
    let all = [
        slowed.filter(|share| *share > SLOWED).map(Doubt::Slowed),
        uncertain.filter(|share| *share > UNCERTAIN).map(Doubt::Uncertain),
        (short > 0.5).then_some(Doubt::FewSlices(short)),
    ];
    all.into_iter().flatten().collect()
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
        (runs.iter().any(|r| r.build.profile.as_deref() == Some("debug")), Doubt::Unoptimised),
        (runs.iter().any(|run| run.build.dirty == Some(true)), Doubt::ChangedSources),
    ];
    let all = all.into_iter().filter(|(is_there, _)| *is_there).map(|(_, doubt)| doubt);
    all.chain(loaded(&runs)).chain(absent.map(Doubt::NotCounted)).collect()
}

/// The run that began on the busiest machine, if it was busy.
fn loaded(runs: &[&Run]) -> Option<Doubt> {
    let loaded = runs.iter().filter_map(|run| {
        let machine = &run.machine;
        let cpus = facts::machine::cpu_list(machine.cpus_online.as_ref()?)?.len();
        let load = machine.load_average.map_or(0.0, |[one, ..]| one);
        let waiting = machine.pressure.cpu.unwrap_or(0.0) / 100.0;
        let is_loaded = load > LOADED.0 * cpus as f64 || waiting > LOADED.1;
        is_loaded.then_some(Doubt::Loaded(load, cpus, waiting))
    });
    loaded.reduce(Doubt::worse)
}

/// Doubts of all records and figures, and those about the machine meanwhile: the worst of each kind with the
/// names of its figures, the loudest first.
pub fn of_all<'a>(
    records: &[Record],
    figures: impl Iterator<Item = (String, &'a [Doubt])>,
    conditions: Vec<Doubt>,
) -> Vec<Stated> {
    let figures: Vec<(String, &[Doubt])> = figures.collect();
    let of_each = figures.iter().flat_map(|(name, own)| own.iter().map(move |doubt| (name, doubt)));
    let of_each =
        of_each.map(|(name, doubt)| Stated { doubt: doubt.clone(), about: vec![name.clone()] });
    let mut of_figures = merged(of_each);
    for stated in &mut of_figures {
        let has = |(_, doubts): &(String, &[Doubt])| {
            doubts.iter().any(|doubt| discriminant(doubt) == discriminant(&stated.doubt))
        };
        if figures.iter().all(has) {
            stated.about.clear();
        }
    }
    let of_set = of_records(records).into_iter().chain(conditions).map(Stated::from);
    merged(of_set.chain(of_figures))
}

/// The worst doubt of each kind, with all names, the loudest first.
pub fn merged(all: impl Iterator<Item = Stated>) -> Vec<Stated> {
    let key = |stated: &Stated| (discriminant(&stated.doubt), stated.doubt.subject());
    let kinds = grouped(all.map(|stated| (key(&stated), stated)));
    let worst = kinds.into_iter().filter_map(|(_, own)| {
        let is_all = own.iter().any(|stated| stated.about.is_empty());
        let names =
            grouped(own.iter().flat_map(|stated| &stated.about).map(|name| (name.clone(), ())));
        let about = names.into_iter().filter(|_| !is_all).map(|(name, _)| name).collect();
        let doubt = own.into_iter().map(|stated| stated.doubt).reduce(Doubt::worse)?;
        Some(Stated { doubt, about })
    });
    let mut all: Vec<Stated> = worst.collect();
    // Kinds stand in their order.
    all.sort_by(|a, b| a.doubt.partial_cmp(&b.doubt).unwrap_or(Ordering::Equal));
    all
}

/// Doubts of figures with their names, for [`of_all`].
pub fn named<'a>(
    figures: impl Iterator<Item = &'a Figure<'a>>,
) -> impl Iterator<Item = (String, &'a [Doubt])> {
    let measured = figures.filter(|figure| !figure.runs.whole.is_empty());
    measured.map(|figure| (names(&[figure]).concat(), &figure.doubts[..]))
}

/// Names of figures; points of one curve share a name.
pub fn names(figures: &[&Figure<'_>]) -> Vec<String> {
    let named = figures.iter().map(|figure| match figure.swept() {
        Some((flag, x)) => (format!("{}, {flag} ", figure.key.name()), x.to_string()),
        None => (figure.key.name(), String::new()),
    });
    grouped(named).into_iter().map(|(name, xs)| name + &xs.join(", ")).collect()
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
    fn a_latency_is_not_too_short() {
        let mut record = under_load(0);
        let machine = facts::Machine { clock_step_ns: Some(20), ..facts::Machine::default() };
        std::sync::Arc::make_mut(&mut record.header).machine = machine;
        assert_eq!(of_process(&record), []);
        record.arrivals = None;
        let doubts = of_process(&record);
        assert_eq!(doubts, [Doubt::ShortSamples(20, 10_000)]);
    }
}
