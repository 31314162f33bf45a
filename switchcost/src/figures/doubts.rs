//! Who has which doubts: processes, figures, rows of a duel, sets of records; and all of them in their order.

use std::cmp::Ordering;
use std::mem::discriminant;

use facts::{Memory, Metric, Quantity, Record, Run};
use stats::MIN_ROUNDS;

use super::basis::grouped;
use super::doubt::{Doubt, Stated, VALIDATED};
use super::evidence::Evidence;
use super::figure::{Figure, Outcome};
use super::grade::Grade;
use super::provenance;
use super::runs::Runs;
use super::speed::{Corrected, Timed};

/// Share of a figure from which the generator's lateness is a doubt.
const GENERATOR_LATE: f64 = 0.05;

/// Correction of a time, as a share, above which it is disturbed.
const SLOWED: f64 = 0.2;

/// Standard error of the correction, as a share of the time, above which it is.
const UNCERTAIN: f64 = 0.05;

/// Load average per CPU, and share of the time in which something waited for a CPU, from which a run began on a
/// busy machine. A build, or a run, that has just ended leaves a load of one and a third of it.
const LOADED: (f64, f64) = (2.0, 0.5);

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
    // Older programs had a percentile for a sample.
    let samples = record.samples.as_ref()?;
    let share = late / if record.arrivals == Some(1) { samples.p99 as f64 } else { samples.mean };
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
        doubts.extend((reading.means.len() < MIN_ROUNDS).then_some(Doubt::FewRounds));
    }
    if runs.metric.follows_iteration() || matches!(runs.metric, Metric::Samples(_)) {
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
    let kinds = grouped(all.map(|stated| (stated.doubt.kind(), stated)));
    let worst = kinds.into_iter().filter_map(|(_, own)| {
        let is_all = own.iter().any(|stated| stated.about.is_empty());
        let names =
            grouped(own.iter().flat_map(|stated| &stated.about).map(|name| (name.clone(), ())));
        let about = names.into_iter().filter(|_| !is_all).map(|(name, _)| name).collect();
        let doubt = own.into_iter().map(|stated| stated.doubt).reduce(Doubt::worse)?;
        Some(Stated { doubt, about })
    });
    let mut all: Vec<Stated> = worst.collect();
    // Kinds stand in their order, but those that say how noisy it was by size.
    let place = |stated: &Stated| match stated.doubt.noise() {
        _ if stated.doubt.voids() => (0, 0.0),
        Some((share, _)) => (1, -share),
        None => (2, 0.0),
    };
    all.sort_by(|a, b| {
        let kinds = || a.doubt.partial_cmp(&b.doubt);
        let order = place(a).partial_cmp(&place(b)).filter(|order| order.is_ne());
        order.or_else(kinds).unwrap_or(Ordering::Equal)
    });
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
    // Sections may have a row and a value of the same name.
    let distinct = |xs: Vec<String>| {
        let once = grouped(xs.into_iter().map(|x| (x, ()))).into_iter().map(|(x, _)| x);
        once.collect::<Vec<_>>().join(", ")
    };
    grouped(named).into_iter().map(|(name, xs)| name + &distinct(xs)).collect()
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
    fn the_loudest_doubt_is_the_largest() {
        let drift = Doubt::Drift("I/O".to_owned(), 4.1);
        let all =
            [Doubt::TwoModes, Doubt::Busy(0.72), drift, Doubt::Slowed(0.3), Doubt::Unoptimised];
        let loudest = merged(all.into_iter().map(Stated::from));
        let shares = loudest.iter().map(|s| s.doubt.noise().map(|(share, _)| share));
        let shares: Vec<Option<f64>> = shares.collect();
        assert_eq!(shares, [None, Some(4.1), Some(0.72), Some(0.3), None]);
        assert_eq!(loudest[0].doubt, Doubt::Unoptimised);
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
