//! One speed: the times of slices, corrected to the quiet speed of the machine.
//!
//! The neighbour on the other hyperthread of a core makes everything slower without a tick of stolen time. A
//! probe right before and right after each slice shows it. A disturbed slice is longer by an amount that
//! depends on the program, so it cancels in no ratio; but it follows the probe:
//!
//! `ln t = ln t(quiet) + b · min(x, cap)`
//!
//! where `x` is the mean, over the CPUs of the slice and both probes, of `ln(probe / quick level)`. Above `cap`
//! a neighbour slows the probe further, and no program: the cap is one for all programs with as many CPUs, the
//! one that leaves the least of the times unexplained. The slope `b` is the row's own, fitted inside
//! processes and drawn towards the mean of all rows as far as it is unsure (a random-effects fit). Its error is
//! handed to the rounds that it comes from, so that every interval over rounds contains it. A part of the error that no
//! round shows widens these intervals, too.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use host::units::counted;
use record::{Metric, Place, Record, Side, Slice};
use serde::Serialize;

mod follows;
mod levels;
mod slope;

use follows::Follows;
use levels::LIKE_QUICK;
pub(crate) use levels::Levels;
use slope::{Look, SlicedProcess, Slope, cap, slopes};
pub use slope::{Round, round};

/// Largest time that the host may take from its CPUs together in a slice, as a share of its length.
const STOLEN: f64 = 0.02;

/// Largest share of the CPUs' time that others may use around a slice, in parts per thousand.
const OTHERS: u32 = 50;

/// Median number of busy CPUs below which the processes of a row sleep for most of their time.
const ASLEEP: f64 = 0.25;

/// Times of a process that took turns. Logarithms are natural, of ns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Corrected {
    /// Logarithm of its iteration at the quiet speed: the median over its slices.
    pub(crate) log: f64,
    /// The part of the slope's error that comes from its round; zero in the mean over the rounds.
    pub(crate) error: f64,
    /// Median correction, which is contained in `log`.
    pub(crate) correction: f64,
    /// Standard error of that correction.
    pub(crate) uncertainty: f64,
    /// The part of it that no round shows.
    pub(crate) hidden: f64,
    /// Mean slowness of its CPUs around its slices, a logarithm.
    pub(crate) slowness: f64,
    /// Share of the session's probes that were near the quickest, on the CPU that has the fewest.
    pub(crate) near: f64,
    /// Logarithm by which it is still too long, as far as corrected times clearly follow the slowness.
    pub(crate) left: f64,
    /// Mean logarithm of its slices that count, by turn, as measured.
    pub turns: BTreeMap<u32, f64>,
    /// True if less than half of its slices count, since the time of the others was not the program's.
    pub(crate) is_short: bool,
}

/// A process with its corrected times; none if it took no turns, or none of its slices counts.
#[derive(Clone, Debug)]
pub struct Timed<'a> {
    pub(crate) record: &'a Record,
    pub corrected: Option<Arc<Corrected>>,
}

impl Timed<'_> {
    /// Iteration in ns at the quiet speed; of a process that took no turns the mean of its samples. `None` if none
    /// of its slices counts.
    pub(crate) fn iteration(&self) -> Option<f64> {
        match &self.corrected {
            Some(corrected) => Some(corrected.log.exp()),
            None if self.record.slices.is_empty() => Some(self.record.samples.as_ref()?.mean),
            None => None,
        }
    }

    /// The same with the error of the correction: for intervals over rounds.
    pub(crate) fn with_error(&self) -> Option<f64> {
        let error = self.corrected.as_ref().map_or(0.0, |corrected| corrected.error);
        Some(self.iteration()? * error.exp())
    }

    /// Mean iteration over its turns in ns, as measured: unlike the median, it knows pauses. `None` if it took no turns.
    pub(crate) fn mean(&self) -> Option<f64> {
        let turns = self.corrected.as_ref()?.turns.values();
        stats::mean(&turns.map(|log| log.exp()).collect::<Vec<_>>())
    }

    /// Factor by which a time of its iterations is corrected, such as a percentile.
    pub(crate) fn factor(&self) -> f64 {
        self.corrected.as_ref().map_or(1.0, |corrected| (-corrected.correction).exp())
    }

    /// Logarithm of its time divided by the time of another process of the same row and round: the median over their
    /// common turns. Their slices are next to each other and depend on the speed alike, so that the speed cancels; a
    /// correction would add the noise of the probe. `None` if either has no time.
    pub(crate) fn log_ratio(&self, other: &Timed<'_>) -> Option<f64> {
        if let (Some(own), Some(others)) = (&self.corrected, &other.corrected) {
            let both =
                own.turns.iter().filter_map(|(turn, log)| Some(log - others.turns.get(turn)?));
            if let Some(median) = stats::median(&both.collect::<Vec<_>>()) {
                return Some(median);
            }
        }
        let log = (self.iteration()? / other.iteration()?).ln();
        log.is_finite().then_some(log)
    }

    /// Logarithm of its mean over their common turns divided by the other's. `None` if they have none.
    pub(crate) fn log_ratio_of_means(&self, other: &Timed<'_>) -> Option<f64> {
        let [own, others] = [self, other].map(|timed| Some(&timed.corrected.as_ref()?.turns));
        let (own, others) = own.zip(others)?;
        let sum = |first: &BTreeMap<u32, f64>, other: &BTreeMap<u32, f64>| -> f64 {
            first
                .iter()
                .filter(|(turn, _)| other.contains_key(turn))
                .map(|(_, log)| log.exp())
                .sum()
        };
        let log = (sum(own, others) / sum(others, own)).ln();
        log.is_finite().then_some(log)
    }
}

/// What the slices of some records tell of the machine's speed, and of its correction.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Speed {
    #[serde(rename = "all")]
    pub(crate) slices: usize,
    /// Slices during which the host took time from their CPUs.
    pub(crate) stolen: usize,
    /// Those around which other programs used the CPUs.
    pub(crate) others: usize,
    /// Median, over all slices, of the share by which the probe took longer than at the quick level.
    pub(crate) slower: Option<f64>,
    /// How far corrected times still follow the slowness of their processes.
    pub(crate) follows: Option<Follows>,
    /// Test of the correction, for each row with [`stats::MIN_ROUNDS`] processes that had both quiet and other slices:
    /// logarithms of the time corrected from all slices, and from the others alone, each divided by the time of the
    /// quiet slices.
    #[serde(skip)]
    pub held_out: Vec<[f64; 2]>,
}

impl Speed {
    /// Median of the errors, and the error that 95 % of them do not exceed, as shares: from all slices, and from the
    /// slices that were not quiet. One row moves neither of them, such as a lock that has its quiet slices when its
    /// threads do not meet.
    pub fn errors(&self) -> Option<[[f64; 2]; 2]> {
        let errors = |which: usize| {
            let errors: Vec<f64> = self.held_out.iter().map(|logs| logs[which].exp_m1()).collect();
            let sizes: Vec<f64> = errors.iter().map(|error| error.abs()).collect();
            Some([stats::median(&errors)?, stats::quantile(&sizes, 0.95)?])
        };
        Some([errors(0)?, errors(1)?])
    }

    /// How well corrected times agree with quiet slices, and whether they still follow the slowness; `None` if nothing tells.
    pub fn correction(&self) -> Option<String> {
        let errors = self.errors().map(|errors| {
            let [[median, most], [disturbed, disturbed_most]] =
                errors.map(|of| of.map(|share| 100.0 * share));
            format!(
                "corrected times against quiet slices alone, {}: {median:+.1} % in the median, 95 % of them within \
                 {most:.1} %; by disturbed slices alone {disturbed:+.1} %, {disturbed_most:.1} %",
                counted(self.held_out.len(), "case")
            )
        });
        let parts: Vec<String> =
            errors.into_iter().chain(self.follows.map(|follows| follows.to_string())).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

/// The processes of records with their corrected times, each in its record's place.
pub(crate) fn correct<'a>(records: &'a [Record], levels: &Levels) -> (Vec<Timed<'a>>, Speed) {
    let (mut speed, mut slowness) = (Speed::default(), Vec::new());
    // By their places on the first side: what the sides run depends on the speed alike.
    let mut rows: BTreeMap<Place, Vec<SlicedProcess<'_>>> = BTreeMap::new();
    for (index, record) in records.iter().enumerate() {
        let process = process(index, record, levels, &mut speed, &mut slowness);
        rows.entry(record.row().place.on(Side::A)).or_default().extend(process);
    }
    for row in rows.values_mut() {
        keep_half(row);
        let_sleep(row);
    }
    rows.retain(|_, row| !row.is_empty());
    speed.slower = stats::median(&slowness).map(f64::exp_m1);
    let mut timed: Vec<Timed<'_>> =
        records.iter().map(|record| Timed { record, corrected: None }).collect();
    let processes = corrected(&rows, &mut speed.held_out);
    let times = processes.iter();
    speed.follows =
        Follows::of(times.map(|(index, own)| (&records[*index], [own.slowness, own.log])));
    let follows = speed.follows.filter(Follows::is_clear).map_or(0.0, |follows| follows.slope);
    for (index, mut corrected) in processes {
        corrected.left = follows * corrected.slowness;
        timed[index].corrected = Some(Arc::new(corrected));
    }
    (timed, speed)
}

/// A record as the fit sees it; `None` without slices. Counts its slices.
fn process<'a>(
    index: usize,
    record: &'a Record,
    levels: &Levels,
    speed: &mut Speed,
    slowness: &mut Vec<f64>,
) -> Option<SlicedProcess<'a>> {
    if !record.is_whole() {
        return None;
    }
    let look = |slice: &Slice| {
        let logs: Vec<[f64; 2]> =
            slice.probes.iter().filter_map(|probe| levels.slowness(probe)).collect();
        let mean =
            |of: fn(&[f64; 2]) -> f64| logs.iter().map(of).sum::<f64>() / logs.len().max(1) as f64;
        let is_quiet = logs.as_flattened().iter().all(|log| *log <= LIKE_QUICK.ln());
        Look {
            turn: slice.turn,
            x: mean(|[before, after]| f64::midpoint(*before, *after)),
            apart: mean(|[before, after]| (after - before) / 2.0),
            y: slice.mean().ln(),
            is_quiet,
        }
    };
    let (mut every_look, mut looks) = (Vec::new(), Vec::new());
    let timed = record.slices.iter().map(|slice| (slice, look(slice)));
    for (slice, look) in timed.filter(|(_, look)| look.y.is_finite()) {
        every_look.push(look);
        speed.slices += 1;
        slowness.push(look.x);
        if slice.stolen.unwrap_or(0) as f64 > STOLEN * slice.window as f64 {
            speed.stolen += 1;
        } else if slice.others.is_some_and(|share| share > OTHERS) {
            speed.others += 1;
        } else {
            looks.push(look);
        }
    }
    if every_look.is_empty() {
        return None;
    }
    Some(SlicedProcess {
        index,
        record,
        cpus: record.slices[0].probes.len(),
        near: levels.near(record),
        is_short: 2 * looks.len() < every_look.len(),
        every_look,
        looks,
    })
}

/// Drops rounds without a usable slice. If that would drop most rounds of a row, or of its twin, keeps all its slices:
/// its figures are marked.
fn keep_half(row: &mut Vec<SlicedProcess<'_>>) {
    let is_twin = |process: &SlicedProcess<'_>| process.record.row().place.side == Side::Twin;
    for twins in [false, true] {
        let own = || row.iter().filter(|process| is_twin(process) == twins);
        let lost = own().filter(|process| process.looks.is_empty()).count();
        if 2 * lost <= own().count() {
            continue;
        }
        let own = row.iter_mut().filter(|process| is_twin(process) == twins);
        for process in own.filter(|process| process.looks.is_empty()) {
            process.looks = process.every_look.clone();
        }
    }
    row.retain(|process| !process.looks.is_empty());
}

/// A row that sleeps for most of its time is not corrected: none of its slices counts as slow.
fn let_sleep(row: &mut [SlicedProcess<'_>]) {
    if !are_asleep(&row.iter().map(|process| process.record).collect::<Vec<_>>()) {
        return;
    }
    for process in row {
        (process.cpus, process.near) = (0, 1.0);
        for look in process.every_look.iter_mut().chain(&mut process.looks) {
            (look.x, look.is_quiet) = (0.0, true);
        }
    }
}

/// True if trials sleep for most of their time, which follows no speed.
pub(crate) fn are_asleep(trials: &[&Record]) -> bool {
    let shares: Vec<f64> =
        trials.iter().filter_map(|record| Metric::CpuShare.figure(record, None)).collect();
    stats::median(&shares).is_some_and(|share| share < ASLEEP)
}

/// Corrected times of all processes, by the numbers of their records.
fn corrected(
    rows: &BTreeMap<Place, Vec<SlicedProcess<'_>>>,
    held_out: &mut Vec<[f64; 2]>,
) -> Vec<(usize, Corrected)> {
    let counts: BTreeSet<usize> = rows.values().flatten().map(|process| process.cpus).collect();
    let caps: BTreeMap<usize, f64> =
        counts.into_iter().map(|cpus| (cpus, cap(rows, cpus))).collect();
    let mut processes = Vec::new();
    for (slope, row) in slopes(rows, &caps).iter().zip(rows.values()) {
        for side in [Side::A, Side::B, Side::Twin] {
            let own = row.iter().filter(|process| process.record.row().place.side == side);
            processes.extend(corrected_side(&own.collect::<Vec<_>>(), slope, &caps, held_out));
        }
    }
    processes
}

/// The same of one side of a row.
fn corrected_side(
    own: &[&SlicedProcess<'_>],
    slope: &Slope,
    caps: &BTreeMap<usize, f64>,
    held_out: &mut Vec<[f64; 2]>,
) -> Vec<(usize, Corrected)> {
    let slow = own.iter().map(|process| {
        let bounded = process.looks.iter().map(|look| look.x.min(caps[&process.cpus]));
        stats::median(&bounded.collect::<Vec<_>>()).unwrap_or(0.0)
    });
    let slow: Vec<f64> = slow.collect();
    let mean = slow.iter().sum::<f64>() / own.len() as f64;
    let share =
        |process: &&SlicedProcess<'_>| slope.by_round.get(&round(process.record)).unwrap_or(&0.0);
    let centre = own.iter().map(share).sum::<f64>() / own.len() as f64;
    let (mut processes, mut errors) = (Vec::new(), Vec::new());
    for (process, slow) in own.iter().zip(slow) {
        let time = |look: &Look| look.y - slope.value * look.x.min(caps[&process.cpus]);
        let of_turns = process.looks.chunk_by(|one, next| one.turn == next.turn);
        let turns: BTreeMap<u32, f64> = of_turns.map(mean_of_turn).collect();
        let logs: Vec<f64> = process.looks.iter().map(time).collect();
        let log = stats::median(&logs).unwrap_or(0.0);
        let (quiet, others): (Vec<&Look>, Vec<&Look>) =
            process.looks.iter().partition(|look| look.is_quiet);
        let quiet = stats::median(&quiet.into_iter().map(time).collect::<Vec<_>>());
        let others = stats::median(&others.into_iter().map(time).collect::<Vec<_>>());
        errors.extend(quiet.zip(others).map(|(quiet, others)| [log - quiet, others - quiet]));
        let xs: Vec<f64> = process.looks.iter().map(|look| look.x).collect();
        let corrected = Corrected {
            log,
            error: -mean * own.len() as f64 * (share(process) - centre),
            correction: slope.value * slow,
            uncertainty: slope.variance.sqrt() * slow.abs(),
            hidden: slope.hidden().sqrt() * slow.abs(),
            slowness: stats::mean(&xs).unwrap_or(0.0),
            near: process.near,
            turns,
            is_short: process.is_short,
            ..Corrected::default()
        };
        processes.push((process.index, corrected));
    }
    if errors.len() >= stats::MIN_ROUNDS {
        let mean = |which: usize| {
            errors.iter().map(|error: &[f64; 2]| error[which]).sum::<f64>() / errors.len() as f64
        };
        held_out.push([mean(0), mean(1)]);
    }
    processes
}

/// The number of a turn, and the mean logarithm of its slices.
fn mean_of_turn(looks: &[Look]) -> (u32, f64) {
    let sum: f64 = looks.iter().map(|look| look.y).sum();
    (looks[0].turn, sum / looks.len() as f64)
}

#[cfg(test)]
mod tests;
