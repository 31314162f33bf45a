//! Notes: what a reader should know before trusting figures. Made from records alone.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use contract::units::{Bytes, Nanos};
use record::{Record, Run};

/// Warning about one process.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// The last third of the iterations differs from the first by more than three standard errors.
    NotSteady {
        /// Last third over first third, less one.
        change: f64,
    },
    /// A sample was shorter than a thousand steps of the clock.
    ShortSamples {
        /// Shortest sample, in ns.
        shortest: u64,
        /// Step of the clock, in ns.
        step: u64,
    },
    /// The scheduler preempted running threads in more than one hop, or task, of a hundred.
    Preempted {
        /// Involuntary switches per hop or task.
        each: f64,
        /// `hop` or `task`.
        unit: &'static str,
    },
    /// The hypervisor gave more than 1 % of the time to others.
    Steal {
        /// Stolen time, in ns.
        time: u64,
        /// The same as a share of the timed iterations.
        share: f64,
    },
    /// A CPU quota stopped the process.
    Throttled {
        /// Throttled time, in ns.
        time: u64,
    },
    /// Transparent huge pages hold part of the memory.
    HugePages {
        /// Bytes in huge pages.
        bytes: u64,
    },
    /// The round trip of a cache line more than doubled or halved.
    CacheLineMoved {
        /// Before the program, in ns.
        before: f64,
        /// After it, in ns.
        after: f64,
    },
    /// A file of the kernel could not be read.
    Unreadable {
        /// Its path.
        file: &'static str,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Note::NotSteady { change } => write!(
                f,
                "not steady: the last third took {:+.1} % against the first; repeat it, or try a larger --warmup",
                change * 100.0
            ),
            Note::ShortSamples { shortest, step } => write!(
                f,
                "short samples: the shortest, {}, is under 1000 steps of the clock ({}); more --tasks make it longer",
                Nanos(shortest as f64),
                Nanos(step as f64)
            ),
            Note::Preempted { each, unit } => {
                write!(f, "{each:.2} involuntary switches (preempted) per {unit}")
            }
            Note::Steal { time, share } => write!(
                f,
                "the hypervisor gave {} ({:.1} % of the measurement) to others",
                Nanos(time as f64),
                share * 100.0
            ),
            Note::Throttled { time } => {
                write!(f, "a CPU quota (cpu.max) stopped the process for {}", Nanos(time as f64))
            }
            Note::HugePages { bytes } => write!(
                f,
                "{} are in transparent huge pages: memory per task means little",
                Bytes(bytes)
            ),
            Note::CacheLineMoved { before, after } => write!(
                f,
                "a cache line took {} to another CPU and back before the run, and {} after it: the host moves virtual CPUs; repeat it",
                Nanos(before),
                Nanos(after)
            ),
            Note::Unreadable { file } => {
                write!(f, "{file} cannot be read: what it tells is unknown")
            }
        }
    }
}

impl Note {
    /// Notes of one process.
    pub fn of(record: &Record) -> Vec<Note> {
        let samples = record.samples.as_ref();
        let drift = samples.and_then(|s| s.thirds).filter(|t| !t.is_steady());
        let step = record.machine().clock_step_ns;
        let shortest = samples.map(|s| s.min);
        let short = shortest.zip(step).filter(|(min, step)| *min < step.saturating_mul(1000));
        let line = record.cache_line;
        let moved = line.filter(|line| line.ratio().is_some_and(|ratio| ratio > 2.0));
        let huge = record.memory.and_then(|memory| memory.held?.huge);
        [
            drift.map(|thirds| Note::NotSteady { change: thirds.change() }),
            short.map(|(shortest, step)| Note::ShortSamples { shortest, step }),
            preempted(record),
            steal(record),
            record
                .interference
                .and_then(|i| i.throttled)
                .filter(|&time| time > 0)
                .map(|time| Note::Throttled { time }),
            huge.filter(|&bytes| bytes > 0).map(|bytes| Note::HugePages { bytes }),
            moved
                .and_then(|line| line.before.zip(line.after))
                .map(|(before, after)| Note::CacheLineMoved { before, after }),
        ]
        .into_iter()
        .flatten()
        .chain(unreadable(record))
        .collect()
    }

    /// Summary for a case; `None` where the tables show it already.
    fn summary(&self) -> Option<&'static str> {
        Some(match self {
            Note::NotSteady { .. } => {
                "not steady: the last third of the iterations differs from the first"
            }
            Note::ShortSamples { .. } => "samples shorter than 1000 steps of the clock",
            Note::Preempted { unit: "hop", .. } => return None,
            Note::Preempted { .. } => "involuntary switches in more than one creation of a hundred",
            Note::Steal { .. } => "the hypervisor gave CPU time to others",
            Note::Throttled { .. } => "a CPU quota stopped the process",
            Note::HugePages { .. } => "transparent huge pages: the memory per task means little",
            Note::CacheLineMoved { .. } => {
                "the round trip of a cache line between CPUs more than doubled or halved in mid-run"
            }
            Note::Unreadable { .. } => {
                "files of the kernel could not be read: what they tell (memory, interference) is unknown"
            }
        })
    }
}

fn preempted(record: &Record) -> Option<Note> {
    let (times, unit) = record.timed()?;
    let each = record.usage?.involuntary_switches as f64 / times as f64;
    (each > 0.01).then_some(Note::Preempted { each, unit })
}

fn steal(record: &Record) -> Option<Note> {
    let samples = record.samples.as_ref()?;
    let time = record.interference?.steal?;
    let share = time as f64 / (samples.mean * samples.count as f64);
    (share > 0.01).then_some(Note::Steal { time, share })
}

fn unreadable(record: &Record) -> impl Iterator<Item = Note> {
    let held = record.memory.and_then(|memory| memory.held);
    let missing = [
        ("/proc/PID/smaps_rollup", held.is_some_and(|memory| memory.resident.is_none())),
        ("/proc/meminfo", held.is_some_and(|memory| memory.system_slab.is_none())),
        ("/proc/stat", record.interference.is_some_and(|i| i.steal.is_none())),
    ];
    let missing = missing.into_iter().filter(|(_, missing)| *missing);
    missing.map(|(file, _)| Note::Unreadable { file })
}

/// The runs that records are of, each once.
pub(crate) fn runs(records: &[Record]) -> Vec<&Run> {
    let mut runs: Vec<&Arc<Run>> = Vec::new();
    for record in records {
        if !runs.iter().any(|run| Arc::ptr_eq(run, &record.header)) {
            runs.push(&record.header);
        }
    }
    runs.into_iter().map(|run| &**run).collect()
}

/// Warnings about records as a set, and the notes that most processes of a case share.
pub(crate) fn warnings(records: &[Record]) -> Vec<String> {
    let mut warnings = Vec::new();
    let runs = runs(records);
    let Some((first, others)) = runs.split_first() else {
        return warnings;
    };
    let differing =
        |differences: Vec<&'static str>| (!differences.is_empty()).then(|| differences.join(", "));
    let machine = |run: &&Run| differing(first.machine.same_machine(&run.machine));
    if let Some(what) = others.iter().find_map(machine) {
        warnings.push(format!("the records come from different machines or settings: {what}"));
    }
    let build = |run: &&Run| {
        let mut what = first.build.same_build(&run.build);
        // Said by itself below.
        what.retain(|&what| what != "dirty");
        differing(what)
    };
    if let Some(what) = others.iter().find_map(build) {
        warnings.push(format!("the records come from different builds: {what}"));
    }
    if runs.iter().any(|run| run.build.dirty == Some(true)) {
        warnings.push("built from sources that were changed since their revision".to_owned());
    }
    if runs.iter().any(|run| run.build.profile.as_deref() == Some("debug")) {
        warnings.push("built without optimisation".to_owned());
    }
    warnings.extend(common(records));
    warnings
}

/// The notes that more than half of a case's processes have, each with its cases.
fn common(records: &[Record]) -> Vec<String> {
    let mut cases: BTreeMap<(&str, String), Vec<Vec<&'static str>>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.is_whole()) {
        if let Some(place) = record.place() {
            let case = (place.section.title.as_str(), place.case.name());
            let notes = Note::of(record).iter().filter_map(Note::summary).collect();
            cases.entry(case).or_default().push(notes);
        }
    }
    let mut found: Vec<(&str, Vec<&str>)> = Vec::new();
    for ((_, name), processes) in &cases {
        let mut notes: Vec<&str> = processes.iter().flatten().copied().collect();
        notes.sort_unstable();
        notes.dedup();
        notes.retain(|note| {
            let with = processes.iter().filter(|notes| notes.contains(note));
            2 * with.count() > processes.len()
        });
        for note in notes {
            match found.iter_mut().find(|(known, _)| *known == note) {
                Some((_, names)) => names.push(name),
                None => found.push((note, vec![name])),
            }
        }
    }
    let line = |(note, names): (&str, Vec<&str>)| match names.len() == cases.len() {
        true => format!("{note} (every case)"),
        false => format!("{note} ({})", names.join("; ")),
    };
    found.into_iter().map(line).collect()
}
