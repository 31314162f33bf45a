//! Notes: what a reader should know before trusting figures. Made from records alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use contract::units::{Bytes, Nanos};
use record::{Memory, Record, Run, Timing};

use crate::views::compare::pooled;

/// Warning about one process.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// Warning about a case with such processes; `None` where its table shows it already.
    pub summary: Option<&'static str>,
    /// The same with the figures of the process.
    pub text: String,
}

impl Note {
    fn new(summary: &'static str, text: String) -> Self {
        Note { summary: Some(summary), text }
    }

    /// Notes of one process.
    pub fn of(record: &Record) -> Vec<Note> {
        [
            few_quiet(record),
            not_steady(record),
            short_samples(record),
            preempted(record),
            stolen(record).map(steal),
            throttled(record),
            huge_pages(record),
            cache_line_moved(record),
        ]
        .into_iter()
        .flatten()
        .chain(unreadable(record))
        .collect()
    }
}

fn few_quiet(record: &Record) -> Option<Note> {
    let quiet = record.quiet.iter().filter(|quiet| **quiet).count();
    let text = format!("{quiet} of {} slices were quiet: all count", record.quiet.len());
    let summary = "few slices were quiet: all count";
    matches!(record.timing, Timing::AllSlices(_)).then(|| Note::new(summary, text))
}

fn not_steady(record: &Record) -> Option<Note> {
    let thirds = record.samples.as_ref()?.thirds.filter(|thirds| !thirds.is_steady())?;
    let text = format!(
        "not steady: the last third took {:+.1} % against the first; repeat it, or try a larger --warmup",
        thirds.change() * 100.0
    );
    Some(Note::new("not steady: the last third of the iterations differs from the first", text))
}

fn short_samples(record: &Record) -> Option<Note> {
    let (shortest, step) = (record.samples.as_ref()?.min, record.machine().clock_step_ns?);
    let text = format!(
        "short samples: the shortest, {}, is under 1000 steps of the clock ({}); more --tasks make it longer",
        Nanos(shortest as f64),
        Nanos(step as f64)
    );
    let is_short = shortest < step.saturating_mul(1000);
    is_short.then(|| Note::new("samples shorter than 1000 steps of the clock", text))
}

fn preempted(record: &Record) -> Option<Note> {
    let (times, unit) = record.timed()?;
    let each = record.usage?.involuntary_switches as f64 / times as f64;
    let summary = "involuntary switches in more than one creation of a hundred";
    (each > 0.01).then(|| Note {
        summary: (unit != "hop").then_some(summary),
        text: format!("{each:.2} involuntary switches (preempted) per {unit}"),
    })
}

/// Time that the hypervisor gave to others, and its share of the measurement, where that is over 1 %.
pub(crate) fn stolen(record: &Record) -> Option<(u64, f64)> {
    let share = record.stolen().filter(|&share| share > 0.01)?;
    Some((record.interference?.steal?, share))
}

fn steal((time, share): (u64, f64)) -> Note {
    let text = format!(
        "the hypervisor gave {} ({:.1} % of the measurement) to others",
        Nanos(time as f64),
        share * 100.0
    );
    Note::new("the hypervisor gave CPU time to others", text)
}

fn throttled(record: &Record) -> Option<Note> {
    let time = record.interference?.throttled.filter(|&time| time > 0)?;
    let text = format!("a CPU quota (cpu.max) stopped the process for {}", Nanos(time as f64));
    Some(Note::new("a CPU quota stopped the process", text))
}

fn huge_pages(record: &Record) -> Option<Note> {
    let bytes = record.memory?.held?.huge.filter(|&bytes| bytes > 0)?;
    let text =
        format!("{} are in transparent huge pages: memory per task means little", Bytes(bytes));
    Some(Note::new("transparent huge pages: the memory per task means little", text))
}

fn cache_line_moved(record: &Record) -> Option<Note> {
    let line = record.cache_line.filter(|line| line.ratio().is_some_and(|ratio| ratio > 2.0))?;
    let text = format!(
        "a cache line took {} to another CPU and back before the run, and {} after it: the host moves virtual CPUs; repeat it",
        Nanos(line.before?),
        Nanos(line.after?)
    );
    let summary =
        "the round trip of a cache line between CPUs more than doubled or halved in mid-run";
    Some(Note::new(summary, text))
}

fn unreadable(record: &Record) -> impl Iterator<Item = Note> {
    // Where tasks were not held there is a peak alone.
    let was_held = |memory: &Memory| memory.resident.is_some() || memory.peak_resident.is_none();
    let held = record.memory.and_then(|memory| memory.held).filter(was_held);
    let missing = [
        ("/proc/PID/smaps_rollup", held.is_some_and(|memory| memory.resident.is_none())),
        ("/proc/meminfo", held.is_some_and(|memory| memory.system_slab.is_none())),
        ("/proc/stat", record.interference.is_some_and(|i| i.steal.is_none())),
    ];
    let summary =
        "files of the kernel could not be read: what they tell (memory, interference) is unknown";
    missing.into_iter().filter(|(_, missing)| *missing).map(move |(file, _)| {
        Note::new(summary, format!("{file} cannot be read: what it tells is unknown"))
    })
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
    let runs = runs(records);
    let mut warnings = pooled(&runs);
    if runs.iter().any(|run| run.build.dirty == Some(true)) {
        warnings.push("built from sources that were changed since their revision".to_owned());
    }
    if runs.iter().any(|run| run.build.profile.as_deref() == Some("debug")) {
        warnings.push("built without optimisation".to_owned());
    }
    let disturbed = records.iter().filter(|record| record.disturbed).count();
    if disturbed > 0 {
        let were = if disturbed == 1 { "process was" } else { "processes were" };
        warnings.push(format!("{disturbed} {were} measured again, since the host took CPU time"));
    }
    let absent = records.iter().flat_map(|record| record.counters.iter().flat_map(|c| &c.absent));
    let absent: BTreeSet<String> = absent.map(|absent| format!("not counted: {absent}")).collect();
    warnings.extend(absent);
    warnings.extend(common(records));
    warnings
}

/// The notes that more than half of a case's processes have, each with its cases.
fn common(records: &[Record]) -> Vec<String> {
    let mut cases: BTreeMap<(&str, String), Vec<Vec<&'static str>>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.is_whole()) {
        if let Some(place) = record.place() {
            let case = (place.section.title.as_str(), place.case.name());
            let notes = Note::of(record).into_iter().filter_map(|note| note.summary).collect();
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
