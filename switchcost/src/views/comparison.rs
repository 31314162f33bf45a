//! Two sides with their verdicts: the builds or settings of a duel, or two files.
//!
//! A change between files is the ratio of the geometric means of the process means, with Welch's interval on their
//! logarithms; for memory it is the ratio of two slopes. All changes form one family, so that at most 5 % of comparisons
//! of equal runs call any case different.
//!
//! If the machine has become slower meanwhile, that is a true difference, and no statistics of two files can distinguish
//! it from a change of the programs. So each time is divided, in each round, by the machine's own time: the geometric
//! mean of the yardsticks, work that depends on no kernel and no runtime, and that ran within the same seconds. As far
//! as the yardsticks disagree, the intervals are longer.

use std::collections::BTreeMap;

use contract::units::counted;
use figures::conditions::{Conditions, all_doubts};
use figures::doubt::Doubt;
use figures::finding::{self, Changes, Finding, Kind, RowFindings};
use figures::number::change;
use figures::provenance::{self, Difference};
use figures::speed::Round;
use figures::verdict::{MARGIN, Reason, Verdict};
use figures::{CONFIDENCE, Figure, Figures, Outcome, Reading, doubts, pairs};
use record::{Place, Quantity, Record, Why};
use serde::Serialize;
use stats::{Contrast, Estimate, Line, MIN_ROUNDS};

use crate::system::console::shell_line;

/// A comparison as it is printed and written.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Names of the sides, and what they were built from.
    pub(crate) sides: [String; 2],
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) machine: String,
    /// Seed of all orders of a duel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seed: Option<u64>,
    pub(crate) confidence: f64,
    /// Largest change that counts as none, as a share.
    pub(crate) margin: f64,
    /// Reasons why its findings are less certain, the loudest first.
    pub(crate) doubts: Vec<Doubt>,
    /// How the files differ apart from their figures, a sentence each, and what else to know about them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
    /// True if both sides ran on the same CPU model.
    #[serde(skip)]
    pub(crate) is_one_cpu: bool,
    /// Rows with their findings, in the plan's order.
    pub rows: Vec<RowFindings>,
}

/// Parts of a row of memory.
const PARTS: [&str; 2] = [", user", ", with kernel"];

/// A figure of one file.
enum Side<'a> {
    /// The file does not have it.
    Absent,
    Failed(&'a str),
    /// One value per process.
    Figure(&'a Figure<'a>, &'a Reading),
    /// Bytes per task.
    Slope(&'a Line),
}

/// The machine's own time in each round of both files: the geometric mean of its yardsticks.
struct Machine {
    times: [BTreeMap<Round, f64>; 2],
    change: Option<Estimate>,
    /// Most by which the change of a yardstick differs from it, as a logarithm.
    apart: f64,
}

impl Comparison {
    /// The verdicts of a duel.
    pub fn of_duel(records: &[Record]) -> Self {
        let header = records.first().map(|record| &record.header);
        let margin = header.and_then(|run| run.margin).unwrap_or(MARGIN);
        let figures = Figures::of(records);
        let mut rows = pairs::rows(&figures);
        pairs::judge(&mut rows, margin);
        let of_rows = rows.iter().map(|row| (row.name.clone(), &row.doubts[..]));
        let conditions = Conditions::of(&figures).doubts(&figures);
        Comparison {
            sides: header.and_then(|run| run.sides.clone()).unwrap_or_default(),
            machine: provenance::machine(records),
            seed: Some(header.map_or(0, |run| run.seed)),
            confidence: pairs::CONFIDENCE,
            margin,
            doubts: doubts::of_all(records, of_rows, conditions),
            notes: Vec::new(),
            is_one_cpu: true,
            rows,
        }
    }

    /// Compares two files; `margin` is the largest change that counts as none, as a share.
    pub fn of_files(names: [&str; 2], figures: [&Figures<'_>; 2], margin: f64) -> Self {
        let [old, new] = figures;
        let machine = Machine::of(figures);
        let (mut rows, mut yardsticks) = (Vec::new(), Vec::new());
        for figure in old.iter().chain(new.iter().filter(|of| old.get(of.place()).is_none())) {
            let parts = if figure.metric().is_slope() { &PARTS[..] } else { &[""] };
            for part in parts {
                let both = figures.map(|figures| figures.get(figure.place()));
                let sides = both.map(|figure| Side::of(figure, part));
                let fault = match &sides {
                    [Side::Absent, Side::Absent] => continue,
                    [Side::Failed(why), _] => Some(Why::Failed(format!("A: {why}"))),
                    [_, Side::Failed(why)] => Some(Why::Failed(format!("B: {why}"))),
                    // Something that worked before and no longer does is the worst result of an upgrade.
                    [_, Side::Absent] => Some(Why::Failed("not in B".to_owned())),
                    [Side::Absent, _] => Some(Why::LeftOut("not in A".to_owned())),
                    _ => None,
                };
                let grade = both.into_iter().flatten().map(|figure| figure.grade).max();
                let finding = finding(figure, sides, machine.as_ref())
                    .map(|finding| Finding { grade: grade.unwrap_or_default(), ..finding });
                yardsticks.extend(figure.runs.is_yardstick().then_some(rows.len()));
                let row = RowFindings::new(figure.place(), figure.name() + part, Kind::Figure);
                rows.push(RowFindings { fault, findings: finding.into_iter().collect(), ..row });
            }
        }
        finding::judge(&mut rows, 1.0 - CONFIDENCE, margin);
        // Work that depends on the machine alone is never to blame.
        for row in yardsticks {
            for finding in rows[row].findings.iter_mut().filter(|own| own.verdict.has_changed()) {
                finding.verdict = Verdict::Inconclusive(Reason::Machine);
            }
        }
        let runs = figures.map(|figures| provenance::runs(figures.records));
        let marks = provenance::differing_machines(runs[0].first(), &runs[1]);
        Comparison {
            sides: [0, 1].map(|side| {
                let records = figures[side].records;
                let machines = provenance::machines(records);
                format!("{}, {} on {machines}", names[side], counted(records.len(), "run"))
            }),
            machine: String::new(),
            seed: None,
            confidence: CONFIDENCE,
            margin,
            doubts: Vec::new(),
            is_one_cpu: !marks.iter().any(|fact| fact.name == "cpu_model"),
            notes: notes(marks, figures, machine.as_ref()),
            rows,
        }
    }
}

impl<'a> Side<'a> {
    fn of(figure: Option<&'a Figure<'a>>, part: &str) -> Self {
        let Some(figure) = figure else { return Side::Absent };
        match &figure.outcome {
            Outcome::Absent => Side::Absent,
            Outcome::Failed { reason } | Outcome::NotRun { reason } => Side::Failed(reason),
            Outcome::Measured(reading) => Side::Figure(figure, reading),
            Outcome::Slope(slopes) if slopes.void() => {
                Side::Failed("transparent huge pages make the slope meaningless")
            }
            Outcome::Slope(slopes) if part == PARTS[0] => Side::Slope(&slopes.user.line),
            // A system that does not report the kernel's memory has no such row.
            Outcome::Slope(slopes) => {
                slopes.all.as_ref().map_or(Side::Absent, |fit| Side::Slope(&fit.line))
            }
        }
    }
}

/// Finding on a row of both files; `None` if one lacks it, or if it is a time in one and a size in the other.
fn finding(of: &Figure<'_>, sides: [Side<'_>; 2], machine: Option<&Machine>) -> Option<Finding> {
    let mut slack = 0.0;
    let (estimates, change) = match sides {
        [Side::Figure(_, old), Side::Figure(_, new)]
            if old.modes.is_some() || new.modes.is_some() =>
        {
            (None, Err(Reason::TwoModes))
        }
        [Side::Figure(a, old), Side::Figure(b, new)] => {
            let is_timed =
                matches!(of.quantity(), Quantity::Time | Quantity::Rate | Quantity::Throughput);
            let machine = machine.filter(|_| is_timed && !of.runs.is_yardstick());
            let beside = machine.and_then(|machine| Some((machine.beside([a, b])?, machine.apart)));
            slack = beside.map_or(0.0, |(_, apart)| apart);
            let change = beside
                .map_or_else(|| log_ratio(&new.samples, &old.samples), |(change, _)| Ok(change));
            (Some([old.mean, new.mean]), change)
        }
        [Side::Slope(old), Side::Slope(new)] => {
            let change = stats::log_slope_ratio(new, old).ok_or(Reason::NoSize);
            (Some([old, new].map(|line| Estimate::from(line.slope))), change)
        }
        _ => return None,
    };
    Some(Finding {
        verdict: Verdict::Inconclusive(change.err().unwrap_or(Reason::FewRounds)),
        figures: estimates.map(|both| both.map(|estimate| estimate.value)),
        estimates,
        changes: Changes { change: change.ok(), slack, ..Changes::default() },
        ..Finding::new(Kind::Figure, of.quantity())
    })
}

/// Logarithm of new divided by old.
fn log_ratio(new: &[f64], old: &[f64]) -> Result<Contrast, Reason> {
    if new.len().min(old.len()) < MIN_ROUNDS {
        return Err(Reason::FewRounds);
    }
    Contrast::log_ratio(new, old).ok_or(Reason::NoSize)
}

impl Machine {
    /// The machine of two files; `None` unless they share a yardstick.
    fn of(figures: [&Figures<'_>; 2]) -> Option<Self> {
        let is_timed = |figure: &Figure<'_>| {
            figure.runs.is_yardstick()
                && figure.quantity() == Quantity::Time
                && figure.reading().is_some()
        };
        let [old, new] = figures;
        // Another program takes another time, even if the machine is the same.
        let is_in_both = |figure: &&Figure<'_>| {
            let other = new.get(figure.place()).filter(|other| is_timed(other));
            is_timed(figure) && other.is_some_and(|other| program(figure) == program(other))
        };
        let shared = old.iter().filter(is_in_both);
        let places: Vec<&Place> = shared.map(|figure| figure.place()).collect();
        let times: [BTreeMap<Round, f64>; 2] = figures.map(|figures| {
            let all = places.iter().filter_map(|place| figures.get(place));
            let mut logs: BTreeMap<Round, Vec<f64>> = BTreeMap::new();
            for (round, time) in all.flat_map(|figure| figure.runs.with_errors()) {
                logs.entry(round).or_default().push(time.ln());
            }
            logs.retain(|_, own| own.len() == places.len());
            let mean = |own: Vec<f64>| (own.iter().sum::<f64>() / own.len() as f64).exp();
            logs.into_iter().map(|(round, own)| (round, mean(own))).collect()
        });
        let [a, b] = times.each_ref().map(|own| own.values().copied().collect::<Vec<f64>>());
        let change = Estimate::unpaired_ratio(&b, &a, CONFIDENCE);
        let mut machine = Machine { times, change, apart: 0.0 };
        let apart = places.iter().filter_map(|place| {
            Some(machine.beside([old.get(place)?, new.get(place)?])?.estimate.abs())
        });
        machine.apart = apart.fold(0.0, f64::max);
        (!places.is_empty()).then_some(machine)
    }

    /// Change of a figure beside the machine's own; `None` in too few rounds.
    fn beside(&self, sides: [&Figure<'_>; 2]) -> Option<Contrast> {
        let [old, new] = [0, 1].map(|side| sides[side].runs.beside(&self.times[side]));
        log_ratio(&new, &old).ok()
    }
}

/// How the files differ apart from their figures, how the machine changed, and doubts about either file.
fn notes(
    machines: Vec<Difference>,
    figures: [&Figures<'_>; 2],
    machine: Option<&Machine>,
) -> Vec<String> {
    let [old, new] = figures.map(|figures| provenance::runs(figures.records));
    let builds = provenance::differing_builds(old.first(), &new);
    let marks = [
        ("MACHINE OR SETTINGS", machines),
        ("BUILD", builds),
        ("COMMANDS", differing_commands(figures)),
    ];
    let mut notes = Vec::new();
    for (subject, facts) in marks.into_iter().filter(|(_, facts)| !facts.is_empty()) {
        let facts: Vec<String> = facts.iter().map(ToString::to_string).collect();
        notes.push(format!("!! DIFFERENT {subject}: {}", facts.join(", ")));
    }
    notes.push(match machine.and_then(|machine| machine.change) {
        Some(moved) => format!(
            "Work that depends only on the machine changed by {}. The changes of other times are relative to it, round by \
             round; A and B are as measured. If a row has no verdict, `switchcost duel` may have one.",
            change(&moved)
        ),
        None => "The files share no row that depends only on the machine, so times were compared as they are."
            .to_owned(),
    });
    for (label, figures) in ["A", "B"].into_iter().zip(figures) {
        notes.extend(all_doubts(figures).iter().map(|doubt| format!("{label}: {doubt}")));
    }
    notes
}

/// The first row with a different command.
fn differing_commands([old, new]: [&Figures<'_>; 2]) -> Vec<Difference> {
    let own = old.iter().filter(|figure| figure.runs.ties().is_some());
    let mut commands = own.filter_map(|figure| {
        let (old, new) = (command(figure)?, command(new.get(figure.place())?)?);
        (old != new).then(|| Difference { name: figure.place().name(), old, new })
    });
    let Some(first) = commands.next() else { return Vec::new() };
    match commands.count() {
        0 => vec![first],
        more => vec![Difference { name: format!("'{}' and {more} more", first.name), ..first }],
    }
}

/// The program that its processes ran.
fn program<'a>(figure: &Figure<'a>) -> Option<&'a String> {
    figure.runs.whole.first().map(|record| &record.row().command.program)
}

/// Command line of a row, its CPUs and its scheduling policy. The same name promises the same question.
fn command(figure: &Figure<'_>) -> Option<String> {
    let record = figure.runs.whole.first()?;
    let (mut args, command) = (record.row().args(), &record.row().command);
    let tasks = args.iter().position(|arg| arg == "--tasks");
    if let Some(at) = tasks.filter(|_| figure.metric().is_slope()) {
        // A slope is made of processes with different counts.
        args.drain(at..args.len().min(at + 2));
    }
    let line = shell_line([&command.program].into_iter().chain(&args));
    let cpus = command.setting.cpus.iter().map(|cpus| format!(", CPUs {cpus}"));
    let policy = command.setting.policy.iter().map(|policy| format!(", policy {policy}"));
    Some(line + &cpus.chain(policy).collect::<String>())
}
