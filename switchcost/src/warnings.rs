//! What a reader of a whole file of records should know.

use std::collections::BTreeMap;

use harness::notes::Note;
use harness::record::Record;

/// Warnings about records as a set, and the notes that most runs of a case agree on.
pub(crate) fn of(records: &[Record]) -> Vec<String> {
    let mut warnings = Vec::new();
    let Some(first) = records.first() else {
        return warnings;
    };
    let others = || records.iter().skip(1);
    let differing =
        |differences: Vec<&'static str>| (!differences.is_empty()).then(|| differences.join(", "));
    if let Some(what) = others().find_map(|r| differing(first.machine.same_machine(&r.machine))) {
        warnings.push(format!(
            "the records come from different machines or settings: {what}"
        ));
    }
    let of_build = |r: &Record| {
        let mut what = first.build.same_build(&r.build);
        // Said by itself below.
        what.retain(|&what| what != "dirty");
        differing(what)
    };
    if let Some(what) = others().find_map(of_build) {
        warnings.push(format!("the records come from different builds: {what}"));
    }
    if records.iter().any(|r| r.build.dirty == Some(true)) {
        warnings.push("built from sources that were changed since their revision".to_owned());
    }
    warnings.extend(common_notes(records));
    warnings
}

/// How many of a case's runs must have a note for it to count.
#[derive(Clone, Copy)]
enum Share {
    /// One run that drifted is noise, and the intervals show it.
    Most,
    /// What somebody did to a run is not noise.
    Any,
}

/// The notes that a reader should know of, each with the cases that it counts for.
fn common_notes(records: &[Record]) -> Vec<String> {
    let mut cases: BTreeMap<(&str, String), Vec<&Record>> = BTreeMap::new();
    for record in records.iter().filter(|r| r.error.is_none() && !r.partial) {
        if let Some(plan) = &record.plan {
            let case = (plan.section.as_str(), plan.name());
            cases.entry(case).or_default().push(record);
        }
    }
    type Kind = (fn(&Note) -> bool, &'static str, Share);
    let kinds: [Kind; 14] = [
        (
            |n| matches!(n, Note::NotSteady { .. }),
            "not steady: the last third of the iterations differs from the first",
            Share::Most,
        ),
        (
            |n| matches!(n, Note::ShortSamples { .. }),
            "samples shorter than 1000 steps of the clock",
            Share::Most,
        ),
        (
            // Those of hops stand in the table.
            |n| matches!(n, Note::InvoluntarySwitches { per, .. } if per == "task"),
            "involuntary switches in more than one creation of a hundred",
            Share::Most,
        ),
        (
            |n| matches!(n, Note::Steal { .. }),
            "the hypervisor took CPU time for others",
            Share::Most,
        ),
        (
            |n| matches!(n, Note::Throttled { .. }),
            "a CPU quota stopped the process",
            Share::Most,
        ),
        (
            |n| matches!(n, Note::HugePages { .. }),
            "transparent huge pages: the memory per task means little",
            Share::Most,
        ),
        (
            |n| matches!(n, Note::SmallPipes { .. }),
            "some pipes hold less than others (fs.pipe-user-pages-soft)",
            Share::Any,
        ),
        (
            |n| matches!(n, Note::Unreadable { .. }),
            "files of the kernel could not be read: what they tell (memory, limits, interference) is unknown",
            Share::Most,
        ),
        (
            |n| matches!(n, Note::CacheLineMoved { .. }),
            "the way of a cache line between CPUs more than doubled or halved in mid-run",
            Share::Most,
        ),
        (
            |n| matches!(n, Note::FewerAlive { .. }),
            "not all of the tasks were ever alive at once: memory per task is not that of one that is alive",
            Share::Most,
        ),
        (
            |n| matches!(n, Note::HeldBack { .. }),
            "not all tasks fit within the limits at once, and the driver waited for the oldest to end",
            Share::Any,
        ),
        (
            |n| matches!(n, Note::DebugBuild),
            "built without optimisation",
            Share::Most,
        ),
        (
            |n| matches!(n, Note::Stopped { .. }),
            "stopped and continued in mid-run, which lengthens a sample",
            Share::Any,
        ),
        (
            |n| matches!(n, Note::CpusChanged { .. }),
            "the CPUs to run on changed in mid-run",
            Share::Any,
        ),
    ];
    let mut warnings = Vec::new();
    for (is_kind, text, share) in kinds {
        let has = |record: &&&Record| record.notes.iter().any(is_kind);
        let counts = |with: usize, all: usize| match share {
            Share::Most => 2 * with > all,
            Share::Any => with > 0,
        };
        let names: Vec<&str> = cases
            .iter()
            .filter(|(_, runs)| counts(runs.iter().filter(has).count(), runs.len()))
            .map(|((_, name), _)| name.as_str())
            .collect();
        match names.len() {
            0 => {}
            n if n == cases.len() => warnings.push(format!("{text} (every case)")),
            _ => warnings.push(format!("{text} ({})", names.join("; "))),
        }
    }
    warnings
}
