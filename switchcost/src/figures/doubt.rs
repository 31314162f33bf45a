//! Doubts: what makes figures less sure, each with its sentence. Every view says them in these words.

use std::fmt;
use std::mem::{Discriminant, discriminant};

use contract::units::{Bytes, Nanos, counted};
use serde::Serialize;
use stats::MIN_ROUNDS;

use super::evidence::Verdict;
use super::grade::Grade;
use super::number::percent;
use super::provenance::Fact;

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
    /// There are too few processes for an interval.
    FewRounds,
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
pub(super) const VALIDATED: usize = 2;

impl Grade {
    /// Grade that follows from doubts.
    pub fn of<'a>(doubts: impl IntoIterator<Item = &'a Doubt>) -> Self {
        doubts.into_iter().map(Doubt::grade).max().unwrap_or_default()
    }
}

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
    pub(super) fn severity(&self) -> f64 {
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
            _ => 0.0,
        }
    }

    /// What it says of the noise, as a share and in a few words; `None` of a doubt about something else.
    pub(super) fn noise(&self) -> Option<(f64, String)> {
        let share = percent(self.severity());
        let (share, words) = match self {
            Doubt::Loaded(_, _, waiting) => (*waiting, "busy at the start".to_owned()),
            Doubt::Slowed(_) => (self.severity(), format!("CPUs slower by {share}")),
            Doubt::Uncertain(_) => (self.severity(), format!("times uncertain by {share}")),
            Doubt::FewSlices(_) => (self.severity(), format!("others in {share} of the rounds")),
            Doubt::Busy(_) => (self.severity(), format!("others used {share} of the CPU time")),
            Doubt::Stolen(_) | Doubt::HostTook(_) => {
                (self.severity(), format!("the host took {share}"))
            }
            Doubt::Unsteady(_) => (self.severity(), format!("equal runs {share} apart")),
            Doubt::Drift(..) => (self.severity(), format!("a yardstick moved by {share}")),
            _ => return None,
        };
        Some((share, words))
    }

    pub(super) fn worse(self, other: Self) -> Self {
        if other.severity() > self.severity() { other } else { self }
    }

    /// What kind it is, and what it is about: two of a kind with other subjects are two doubts.
    pub(crate) fn kind(&self) -> (Discriminant<Self>, String) {
        let subject = match self {
            Doubt::Contradicted(verdict) => verdict.to_string(),
            Doubt::NoKernelShare(text) | Doubt::NotCounted(text) | Doubt::Drift(text, _) => {
                text.clone()
            }
            Doubt::Unreadable(file) => (*file).to_owned(),
            _ => String::new(),
        };
        (discriminant(self), subject)
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
                "{} Other work took CPU time from the slices of {} of the rounds.",
                self.grade(),
                percent(*share)
            ),
            Doubt::Loaded(load, cpus, waiting) => write!(
                f,
                "It was busy at the start: load average {load:.0} on {}, CPU pressure {}.",
                counted(*cpus, "CPU"),
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
            Doubt::FewRounds => {
                write!(f, "No interval: it takes {MIN_ROUNDS} rounds, and there are fewer.")
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
