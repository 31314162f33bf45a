//! What a reader should know before trusting the figures.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::limits::{Limits, Passing, Room};
use crate::record::Record;
use crate::units::{Bytes, Nanos};

/// What a reader should know before trusting the figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Note {
    /// The last third of the iterations differs from the first by more than three standard errors.
    NotSteady {
        /// Last third over first third, less one.
        relative: f64,
    },
    /// A sample was shorter than a thousand steps of the clock.
    ShortSamples {
        /// The shortest sample, in ns.
        shortest: u64,
        /// The clock's step, in ns.
        clock_step: u64,
    },
    /// The scheduler took the CPU from running threads, in more than one hop of a hundred.
    InvoluntarySwitches {
        /// Involuntary switches for each of what follows.
        each: f64,
        /// `hop`, or `task` where nothing is handed over.
        per: String,
    },
    /// The hypervisor gave the CPU to others.
    Steal {
        /// Stolen time, in ns.
        time: u64,
        /// As a share of the timed iterations.
        share: f64,
    },
    /// A CPU quota stopped the process.
    Throttled {
        /// Throttled time, in ns.
        time: u64,
    },
    /// Transparent huge pages hold part of the memory: sizes per task mean little.
    HugePages {
        /// Bytes in huge pages.
        bytes: u64,
    },
    /// Pipes were made after the user's share of pipe buffers was used up: they hold less than
    /// others do, and the writer of a full one waits earlier.
    SmallPipes {
        /// How many of the links.
        links: u64,
        /// How many links there are.
        of: u64,
        /// How many bytes the smallest holds.
        bytes: u64,
        /// How many bytes a pipe usually holds.
        usual: u64,
    },
    /// The process was stopped (SIGSTOP, Ctrl-Z) and continued while it measured. The samples are
    /// kept as they are; the time of the stop is in them, unless it fell between two of them.
    Stopped {
        /// How often it was continued.
        times: u64,
        /// Which samples, from 0, were under way; the first ten.
        samples: Vec<u64>,
        /// How many more samples.
        more: u64,
        /// How long these samples took together, in ns.
        time: u64,
    },
    /// Where the process can run was not the same after the timed iterations as before them.
    CpusChanged {
        /// Which CPUs: those online, or those that may be used.
        which: String,
        /// The list before the first timed iteration.
        before: String,
        /// The list after the last one.
        after: String,
    },
    /// A system call is refused here, and an older one was called.
    Instead {
        /// The one that was asked for, such as `clone3(2)`.
        refused: String,
        /// The one that was called.
        called: String,
    },
    /// The way of a cache line between two CPUs took more than twice as long before the run as
    /// after it, or the other way round.
    CacheLineMoved {
        /// The round trip before, in ns.
        before: f64,
        /// The round trip after, in ns.
        after: f64,
    },
    /// Of tasks that sleep, not all were alive at any moment.
    FewerAlive {
        /// How many were, at most.
        most: u64,
        /// How many there were in all.
        of: u64,
    },
    /// Not all tasks fit within the limits of the system at once, and the driver waited for the oldest to
    /// end before it created others.
    HeldBack {
        /// How many were let be alive.
        at_once: u64,
        /// The limits that do not allow all.
        limits: Vec<String>,
    },
    /// The program was built without optimisation.
    DebugBuild,
    /// Files of the kernel that could not be read, so that what they tell is unknown, and was not
    /// checked beforehand.
    Unreadable {
        /// Their paths.
        files: Vec<String>,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::NotSteady { relative } => write!(
                f,
                "not steady: the last third took {:+.1} % against the first: repeat it, or try more --warmups",
                relative * 100.0
            ),
            Note::ShortSamples {
                shortest,
                clock_step,
            } => write!(
                f,
                "short samples: the shortest, {}, is under 1000 steps of the clock ({}); more --tasks make it longer",
                Nanos(*shortest as f64),
                Nanos(*clock_step as f64)
            ),
            Note::InvoluntarySwitches { each, per } => write!(
                f,
                "{each:.2} involuntary switches per {per}: a woken thread preempts its waker, or others need the CPU"
            ),
            Note::Steal { time, share } => write!(
                f,
                "the hypervisor took {} ({:.1} % of the measurement) for others",
                Nanos(*time as f64),
                share * 100.0
            ),
            Note::Throttled { time } => write!(
                f,
                "a CPU quota (cpu.max) stopped this process for {}",
                Nanos(*time as f64)
            ),
            Note::HugePages { bytes } => write!(
                f,
                "{} are in transparent huge pages: memory per task means little",
                Bytes(*bytes)
            ),
            Note::SmallPipes {
                links,
                of,
                bytes,
                usual,
            } => write!(
                f,
                "{links} of {of} pipes hold only {} instead of {}: this user's are past fs.pipe-user-pages-soft; raise it by sysctl -w, or use fewer --tasks",
                Bytes(*bytes),
                Bytes(*usual)
            ),
            Note::Stopped {
                times,
                samples,
                more,
                time,
            } => {
                match times {
                    1 => f.write_str("stopped and continued (SIGCONT) in mid-run")?,
                    n => write!(f, "stopped and continued (SIGCONT) {n} times in mid-run")?,
                }
                let names: Vec<String> = samples.iter().map(u64::to_string).collect();
                let more = match more {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                write!(
                    f,
                    ", in or next to sample {}{more}, counted from 0, {} in all: kept as measured",
                    names.join(", "),
                    Nanos(*time as f64)
                )
            }
            Note::CpusChanged {
                which,
                before,
                after,
            } => write!(
                f,
                "the CPUs {which} changed in mid-run from {before} to {after}: the figures mix both"
            ),
            Note::Instead { refused, called } => write!(
                f,
                "{refused} is refused here (an old kernel, or a sandbox): measured with {called}"
            ),
            Note::CacheLineMoved { before, after } => write!(
                f,
                "a cache line took {} to another CPU and back before the run, and {} after it: the host moves the CPUs about, and what crosses them takes now this, now that; repeat it",
                Nanos(*before),
                Nanos(*after)
            ),
            Note::FewerAlive { most, of } => write!(
                f,
                "only {most} of {of} tasks were ever alive at once: memory per task is not that of one that is alive; --gate holds them until all are"
            ),
            Note::HeldBack { at_once, limits } => write!(
                f,
                "no more than {at_once} tasks were alive at once, since more do not fit ({}): the driver waited for the oldest to end; try --raise-limits",
                limits.join(", ")
            ),
            Note::DebugBuild => f.write_str("built without optimisation: use --release"),
            Note::Unreadable { files } => write!(
                f,
                "{} cannot be read here: what they tell (memory, limits, interference) is unknown, and limits were not checked against it",
                files.join(", ")
            ),
        }
    }
}

impl Note {
    /// That a driver kept to this room.
    pub(crate) fn held_back(room: Room, passing: &Passing) -> Self {
        let all = Limits::read().check(&passing.alive, passing.tasks);
        let shortages = all
            .err()
            .map_or_else(Vec::new, |exceeded| exceeded.shortages);
        Note::HeldBack {
            at_once: room.alive,
            limits: shortages.into_iter().map(|short| short.name).collect(),
        }
    }
}

/// The files whose facts are missing from a record though every kernel has them.
fn unreadable(record: &Record) -> Vec<String> {
    let memory = record.memory.map(|change| change.before);
    let missing = [
        (
            "/proc/self/smaps_rollup",
            memory.is_some_and(|memory| memory.resident.is_none()),
        ),
        (
            "/proc/meminfo",
            memory.is_some_and(|memory| memory.system_slab.is_none()),
        ),
        ("/proc/self/limits", record.machine.rlimits.nofile.is_none()),
        ("/proc/self/status", record.machine.affinity.is_none()),
        (
            "/proc/PID/status of the tasks",
            record.samples.is_some()
                && record.error.is_none()
                && record.usage.is_none()
                // A signal may have cut the last lap short.
                && !record.partial,
        ),
        (
            "/proc/stat",
            record.interference.is_some_and(|i| i.steal.is_none()),
        ),
    ];
    let missing = missing.into_iter().filter(|(_, missing)| *missing);
    missing.map(|(file, _)| file.to_owned()).collect()
}

/// What the figures of a record themselves give cause to note.
pub(crate) fn of(record: &Record) -> Vec<Note> {
    let mut notes = Vec::new();
    if record.build.opt_level.as_deref() == Some("0") {
        notes.push(Note::DebugBuild);
    }
    let files = unreadable(record);
    if !files.is_empty() {
        notes.push(Note::Unreadable { files });
    }
    let Some(samples) = &record.samples else {
        return notes;
    };
    if let Some(drift) = samples.drift()
        && !drift.steady
    {
        notes.push(Note::NotSteady {
            relative: drift.relative,
        });
    }
    if let Some(step) = record.machine.clock_step_ns
        && samples.min < step.saturating_mul(1000)
    {
        notes.push(Note::ShortSamples {
            shortest: samples.min,
            clock_step: step,
        });
    }
    if let Some((most, of)) = record.peak_alive.zip(record.tasks())
        && most < of
    {
        notes.push(Note::FewerAlive { most, of });
    }
    let timed = samples.mean * samples.count as f64;
    if let Some((usage, (repeats, per))) = record.usage.zip(record.repeats()) {
        let each = usage.involuntary_switches as f64 / (repeats * samples.count) as f64;
        if each > 0.01 {
            notes.push(Note::InvoluntarySwitches {
                each,
                per: per.to_owned(),
            });
        }
    }
    if let Some(interference) = record.interference {
        if let Some(time) = interference.steal.filter(|&t| t as f64 > timed / 100.0) {
            notes.push(Note::Steal {
                time,
                share: time as f64 / timed,
            });
        }
        if let Some(time) = interference.throttled.filter(|&t| t > 0) {
            notes.push(Note::Throttled { time });
        }
    }
    if let Some(line) = record.cache_line
        && line.ratio().is_some_and(|ratio| ratio > 2.0)
        && let Some((before, after)) = line.before.zip(line.after)
    {
        notes.push(Note::CacheLineMoved { before, after });
    }
    if let Some(bytes) = record
        .memory
        .and_then(|m| m.at_rest?.huge)
        .filter(|&bytes| bytes > 0)
    {
        notes.push(Note::HugePages { bytes });
    }
    notes
}
