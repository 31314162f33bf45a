//! Who has which doubts: processes, figures, rows of a duel and sets of records.

use host::units::{Bytes, Span, counted};
use record::{Metric, Quantity, Record, Run, Thirds};
use serde_json::Value;
use stats::{MIN_ROUNDS, t_critical};

use super::basis::{grouped, unique};
use super::doubt::{Doubt, DoubtKind, merged, shared};
use super::evidence::Evidence;
use super::figure::{Figure, Outcome};
use super::number::percent;
use super::provenance::{self, Difference};
use super::runs::Runs;
use super::speed::{Corrected, Timed};

/// CPUs on which figures of several chains were validated: docs/findings/cores.md.
const VALIDATED: usize = 2;

/// Share by which CPUs were slower than at the quick level, above which a time is disturbed.
const SLOWED: f64 = 0.25;

/// Share of the probes near the quickest below which it is.
const NEVER_QUIET: f64 = 0.05;

/// Error of the correction, as a share of the time, above which it is.
const UNCERTAIN: f64 = 0.05;

/// Change from the beginning of a turn to its end, as a share, above which a time is not steady.
const UNSTEADY: f64 = 0.05;

/// Confidence with which the change must differ from none: an answer has dozens of rows, on busy machines too.
const CERTAINTY: f64 = 0.999;

/// Load average per CPU, and share of the time that something waited for a CPU, from which a run began on a
/// busy machine. A build, or a run, that has just ended leaves a load of one and a third of it.
const LOADED: (f64, f64) = (2.0, 0.5);

/// Doubts about one trial by itself.
pub fn of_process(record: &Record) -> Vec<Doubt> {
    of_trial(record).into_iter().chain(not_steady(&[record])).collect()
}

/// Doubts that a figure has if most of its trials have them.
fn of_trial(record: &Record) -> Vec<Doubt> {
    let rules: [fn(&Record) -> Option<Doubt>; 5] =
        [short_samples, throttled, huge_pages, left_behind, unvalidated];
    rules.iter().filter_map(|find| find(record)).chain(unreadable(record)).collect()
}

/// Fewest steps of the clock in a sample: reading it adds about one, and no figure is surer than 1 %.
const FEWEST_STEPS: u64 = 100;

fn short_samples(record: &Record) -> Option<Doubt> {
    let (shortest, step) =
        (record.samples.as_ref()?.min, record.machine().number("clock_step_ns")?);
    if record.arrivals().is_some() || shortest >= step.saturating_mul(FEWEST_STEPS) {
        return None;
    }
    let text = format!(
        "Short samples: {} is less than {FEWEST_STEPS} steps of the clock ({} each).",
        Span(shortest),
        Span(step)
    );
    Some(Doubt::new(DoubtKind::ShortSamples, step as f64 / shortest.max(1) as f64, text))
}

fn throttled(record: &Record) -> Option<Doubt> {
    record.group.as_ref()?.waits.throttled.filter(|&ns| ns > 0).map(quota)
}

/// A quota stopped the programs for so many ns.
pub(crate) fn quota(ns: u64) -> Doubt {
    let text = format!("A CPU quota (cpu.max) stopped the programs for {}.", Span(ns));
    Doubt::new(DoubtKind::Throttled, ns as f64, text)
}

fn huge_pages(record: &Record) -> Option<Doubt> {
    let bytes = record.memory?.held?.huge.filter(|&bytes| bytes > 0)?;
    let text =
        format!("{} are in transparent huge pages, so memory per task means little.", Bytes(bytes));
    Some(Doubt::new(DoubtKind::HugePages, bytes as f64, text))
}

fn left_behind(record: &Record) -> Option<Doubt> {
    // Of a command it is no fault.
    let names = record.left_behind.as_ref().filter(|_| !record.is_of_runs())?;
    let text =
        format!("It or a program beside it left processes running, and they were ended: {names}.");
    Some(Doubt::new(DoubtKind::LeftBehind, 0.0, text))
}

fn unvalidated(record: &Record) -> Option<Doubt> {
    let cpus = record.cpu_count().filter(|&cpus| cpus > VALIDATED && record.chains() > 1)?;
    let text = format!(
        "Several chains at once were only validated on {VALIDATED} CPUs, but this process had {cpus}."
    );
    Some(Doubt::new(DoubtKind::Unvalidated, 0.0, text))
}

fn unreadable(record: &Record) -> impl Iterator<Item = Doubt> {
    // If tasks were not held there is a peak alone.
    let held = record.memory.and_then(|memory| memory.held);
    let held = held.filter(|held| held.resident.is_some() || held.peak_resident.is_none());
    let files = [
        ("/proc/PID/smaps_rollup", held.is_some_and(|memory| memory.resident.is_none())),
        ("/proc/meminfo", held.is_some_and(|memory| memory.system_slab.is_none())),
        ("/proc/stat", record.slices.iter().any(|slice| slice.stolen.is_none())),
    ];
    files.into_iter().filter(|(_, is_missing)| *is_missing).map(|(file, _)| {
        let text = format!("{file} cannot be read, so its figures are missing.");
        Doubt::on(DoubtKind::Unreadable, file, 0.0, text)
    })
}

/// Doubts about a figure: its own, and each kind that more than half of its processes share, by its median.
pub(crate) fn of_figure(runs: &Runs<'_>, outcome: &Outcome) -> Vec<Doubt> {
    let mut doubts = Vec::new();
    if let Outcome::Measured(reading) = outcome {
        doubts.extend(contradicted(reading.evidence.as_ref()));
        let modes = "The processes fall into two groups: both are shown, since one mean would describe neither.";
        doubts.extend(reading.modes.map(|_| Doubt::new(DoubtKind::TwoModes, 0.0, modes)));
        let few = format!("No interval: that needs at least {MIN_ROUNDS} rounds.");
        let few =
            (reading.means.len() < MIN_ROUNDS).then(|| Doubt::new(DoubtKind::FewRounds, 0.0, few));
        doubts.extend(few);
    }
    let is_time = matches!(runs.metric(), Metric::User | Metric::System | Metric::Cpu);
    if runs.metric().follows_iteration() || is_time {
        doubts.extend(not_steady(&runs.whole));
        doubts.extend(of_times(&runs.processes().map(|(_, timed)| timed).collect::<Vec<_>>()));
    }
    // A further column has the same processes: it repeats only what lowers its grade.
    let is_size = runs.metric().quantity() == Quantity::Bytes;
    let of_trials = runs.whole.iter().flat_map(|record| of_trial(record));
    let wanted = of_trials.filter(|doubt| match doubt.kind {
        DoubtKind::HugePages => is_size,
        DoubtKind::Throttled => !is_size,
        _ => runs.ties().is_some(),
    });
    doubts.extend(shared(wanted, runs.whole.len() / 2 + 1));
    doubts
}

/// Doubts about the times of a row of a duel: other work, a quota, and what the counters say.
pub(crate) fn of_row(timed: &[&Timed<'_>], metric: &Metric) -> Vec<Doubt> {
    let records: Vec<&Record> = timed.iter().map(|timed| timed.record).collect();
    let evidence = Evidence::of(&records, metric);
    let are_times = metric.quantity() != Quantity::Bytes;
    let throttled = records.iter().filter(|_| are_times).filter_map(|record| throttled(record));
    let shared = shared(throttled, records.len() / 2 + 1).into_iter();
    let of_times = of_times(timed).into_iter().filter(|doubt| !is_of_speed(doubt));
    shared.chain(contradicted(evidence.as_ref())).chain(of_times).collect()
}

/// The counters contradict a figure's name.
fn contradicted(evidence: Option<&Evidence>) -> Option<Doubt> {
    let verdict = evidence?.verdict;
    let (place, text) = ((verdict as u8).to_string(), format!("! {verdict}."));
    verdict.is_contradiction().then(|| Doubt::on(DoubtKind::Contradicted, &place, 0.0, text))
}

/// True if it is about how slow the CPUs were, which sides that took turns were alike.
fn is_of_speed(doubt: &Doubt) -> bool {
    matches!(
        doubt.kind,
        DoubtKind::Slowed | DoubtKind::NeverQuiet | DoubtKind::Uncertain | DoubtKind::Follows
    )
}

/// Doubts about the times of some processes, by how slow their CPUs were and what was done about it.
fn of_times(timed: &[&Timed<'_>]) -> Vec<Doubt> {
    let corrected: Vec<&Corrected> = timed.iter().filter_map(|t| t.corrected.as_deref()).collect();
    let slowed = median(&corrected, |corrected| corrected.slowness).map_or(0.0, f64::exp_m1);
    let near = median(&corrected, |corrected| corrected.near).filter(|&near| near < NEVER_QUIET);
    let uncertain = median(&corrected, |corrected| corrected.uncertainty).map_or(0.0, f64::exp_m1);
    let left = median(&corrected, |corrected| corrected.left.abs()).map_or(0.0, f64::exp_m1);
    // A round without a usable slice has no time.
    let took_turns = timed.iter().filter(|timed| !timed.record.slices.is_empty());
    let are_short = took_turns
        .map(|timed| timed.corrected.as_ref().is_none_or(|corrected| corrected.is_short))
        .collect::<Vec<bool>>();
    let short = are_short.iter().filter(|is_short| **is_short).count();
    let short = short as f64 / are_short.len().max(1) as f64;
    let slowed_text = "~ The CPUs ran slowly: a probe took up to {} longer than at full speed.";
    let never_text = format!(
        "~ The CPUs were hardly ever at full speed: less than {} of the probes came near the quickest.",
        percent(NEVER_QUIET)
    );
    let uncertain_text =
        "~ The CPUs ran slowly, by an uncertain amount: a time has a standard error of {}.";
    let follows_text = "~ The CPUs ran slowly, and times still follow that: they may be off by {}.";
    let short_text = "~ Other work took CPU time in {} of the rounds.";
    let doubts = [
        Doubt::above(SLOWED, DoubtKind::Slowed, slowed, slowed_text),
        near.map(|_| Doubt::new(DoubtKind::NeverQuiet, NEVER_QUIET, never_text)),
        Doubt::above(UNCERTAIN, DoubtKind::Uncertain, uncertain, uncertain_text),
        Doubt::above(UNCERTAIN, DoubtKind::Follows, left, follows_text),
        Doubt::above(0.5, DoubtKind::FewSlices, short, short_text),
    ];
    doubts.into_iter().flatten().collect()
}

fn median(corrected: &[&Corrected], part: fn(&Corrected) -> f64) -> Option<f64> {
    stats::median(&corrected.iter().map(|corrected| part(corrected)).collect::<Vec<_>>())
}

/// The iterations of a figure's processes took more or less time at the end of their turns than at the beginning. What
/// shows a pause shows just that.
fn not_steady(trials: &[&Record]) -> Option<Doubt> {
    let trials = trials.iter().filter(|record| record.row().effort.pause_ms.is_none());
    let thirds: Vec<Thirds> = trials.filter_map(|record| record.thirds).collect();
    let changes: Vec<f64> = thirds.iter().map(Thirds::change).collect();
    let n = changes.len() as f64;
    let mean = stats::mean(&changes)?;
    let (squares, freedom) = if changes.len() < MIN_ROUNDS {
        // Few processes do not show how far they differ, but each knows its own error.
        let squares = thirds.iter().map(|thirds| Some((thirds.error? / thirds.first).powi(2)));
        (squares.sum::<Option<f64>>()? / n, f64::INFINITY)
    } else {
        let from_mean = changes.iter().map(|change| (change - mean).powi(2));
        (from_mean.sum::<f64>() / (n - 1.0), n - 1.0)
    };
    let reach = t_critical(CERTAINTY, freedom)? * (squares / n).sqrt();
    if mean.abs() <= reach {
        return None;
    }
    let direction = if mean > 0.0 { "longer" } else { "shorter" };
    let text = format!(
        "~ Not steady: at the end of a turn, iterations took {{}} {direction} than at its beginning."
    );
    Doubt::above(UNSTEADY, DoubtKind::NotSteady, mean.exp_m1().abs(), &text)
}

/// A size without the kernel's share.
pub fn no_kernel_share(row: &str) -> Doubt {
    let text = format!(
        "'{row}' is only the memory of the process: meanwhile, other programs changed the kernel's memory too much."
    );
    Doubt::on(DoubtKind::NoKernelShare, row, 0.0, text)
}

/// Doubts about records as a set.
pub fn of_records(records: &[Record]) -> Vec<Doubt> {
    let runs = provenance::runs(records);
    let builds = provenance::differing_builds(runs.first(), &runs);
    let machines = provenance::differing_machines(runs.first(), &runs);
    let is_debug = runs.iter().any(|run| run.build.get("profile") == Some(&"debug".into()));
    let is_dirty = runs.iter().any(|run| run.build.get("dirty") == Some(&true.into()));
    let after_pause = runs.iter().any(|run| !run.steady && run.sides.is_none());
    let pause = "Turns began right after a pause, when long chains of threads may be slower than in steady work.";
    let debug = "The programs were built without optimisation.";
    let dirty = "The sources had uncommitted changes.";
    let doubts = [
        pooled(DoubtKind::OtherMachine, "MACHINES OR SETTINGS", &machines),
        pooled(DoubtKind::OtherBuild, "BUILDS", &builds),
        is_debug.then(|| Doubt::new(DoubtKind::Unoptimised, 0.0, debug)),
        is_dirty.then(|| Doubt::new(DoubtKind::ChangedSources, 0.0, dirty)),
        after_pause.then(|| Doubt::new(DoubtKind::AfterPause, 0.0, pause)),
        loaded(&runs),
        repeated(records),
    ];
    let absent = records.iter().flat_map(|record| record.counters.iter().flat_map(|c| &c.absent));
    let absent = unique(absent.map(ToString::to_string)).into_iter();
    let not_counted = absent.map(|event| {
        Doubt::on(DoubtKind::NotCounted, &event, 0.0, format!("Not counted: {event}."))
    });
    doubts.into_iter().flatten().chain(not_counted).collect()
}

/// Records that differ in something and are read together.
fn pooled(kind: DoubtKind, subject: &str, facts: &[Difference]) -> Option<Doubt> {
    let names: Vec<String> = facts.iter().map(ToString::to_string).collect();
    let text = format!("!! DIFFERENT {subject} ARE POOLED HERE: {}", names.join(", "));
    (!facts.is_empty()).then(|| Doubt::new(kind, 0.0, text))
}

/// Records that were given several times.
fn repeated(records: &[Record]) -> Option<Doubt> {
    let count = records.iter().filter(|record| record.is_repeated).count();
    let text = format!("Given several times, but counted once: {}.", counted(count, "record"));
    (count > 0).then(|| Doubt::new(DoubtKind::Repeated, count as f64, text))
}

/// The run that began at the highest load average of those that began on a busy machine.
fn loaded(runs: &[&Run]) -> Option<Doubt> {
    let loaded = runs.iter().filter_map(|run| {
        let machine = &run.machine;
        let cpus = machine.cpus("cpus_online")?.len();
        let load =
            machine.get("load_average").and_then(|load| load.get(0)?.as_f64()).unwrap_or(0.0);
        let waiting = machine.get("pressure/cpu").and_then(Value::as_f64).unwrap_or(0.0) / 100.0;
        let is_loaded = load > LOADED.0 * cpus as f64 || waiting > LOADED.1;
        is_loaded.then_some((load, cpus, waiting))
    });
    let (load, cpus, waiting) = loaded.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let text = format!(
        "The machine was busy at the start: load average {load:.0} on {}, CPU pressure {}.",
        counted(cpus, "CPU"),
        percent(waiting)
    );
    Some(Doubt::new(DoubtKind::Loaded, waiting, text))
}

/// Doubts about all records, all figures and the machine: the worst of each kind, with the names of its figures, the
/// loudest first.
pub fn of_all<'a>(
    records: &[Record],
    figures: impl Iterator<Item = (String, &'a [Doubt])>,
    conditions: Vec<Doubt>,
) -> Vec<Doubt> {
    let figures: Vec<(String, &[Doubt])> = figures.collect();
    let of_each = figures.iter().flat_map(|(name, doubts)| {
        doubts.iter().map(move |doubt| Doubt { about: vec![name.clone()], ..doubt.clone() })
    });
    let mut of_figures = merged(of_each);
    for doubt in &mut of_figures {
        let mut kinds =
            figures.iter().map(|(_, doubts)| doubts.iter().map(|of_figure| of_figure.kind));
        if kinds.all(|mut kinds| kinds.any(|kind| kind == doubt.kind)) {
            doubt.about.clear();
        }
    }
    merged(of_records(records).into_iter().chain(conditions).chain(of_figures))
}

/// Figures that were measured, by name, with their doubts.
pub fn named<'a>(
    figures: impl Iterator<Item = &'a Figure<'a>>,
) -> impl Iterator<Item = (String, &'a [Doubt])> {
    let measured = figures.filter(|figure| !figure.runs.whole.is_empty());
    measured.map(|figure| (figure.name(), &figure.doubts[..]))
}

/// Names of figures; points of one curve share a name.
pub fn names(figures: &[&Figure<'_>]) -> Vec<String> {
    let named = figures.iter().map(|figure| match figure.swept() {
        Some((flag, x)) => (format!("{}, {flag} ", figure.place().name()), x.to_string()),
        None => (figure.place().name(), String::new()),
    });
    // Sections may have a row and a value of the same name.
    grouped(named).into_iter().map(|(name, xs)| name + &unique(xs).join(", ")).collect()
}

#[cfg(test)]
mod tests;
