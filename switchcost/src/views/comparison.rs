//! Two sides with their verdicts: the builds or settings of a duel, or two files.
//!
//! A change between files is the ratio of two figures that share no rounds, by Welch's interval on their logarithms. All
//! changes form one family, so that at most 5 % of comparisons of equal programs call any case different.
//!
//! If the machine has become slower meanwhile, that is a true difference, and no statistics of two files can distinguish
//! it from a change of the programs. So each time is divided, in each round, by the machine's own time: the geometric
//! mean of the yardsticks, work that depends on no kernel and no runtime, and that ran within the same seconds. As far
//! as the yardsticks disagree, the intervals are longer.

use figures::conditions::{Conditions, all_doubts};
use figures::doubt::Doubt;
use figures::grade::Grade;
use figures::number::change;
use figures::part::Part;
use figures::provenance::{self, Difference};
use figures::quotient::{self, Compared, Measured, Quotient};
use figures::value::Value;
use figures::verdict::{MARGIN, Reason, Verdict};
use figures::{Figure, Figures, Outcome, doubts, pairs};
use host::units::counted;
use record::{Quantity, Record, Side, Why};
use serde::Serialize;
use stats::{CONFIDENCE, Contrast, Interval};

use crate::system::console::shell_line;
use crate::views::runs;

/// A comparison as it is printed and written.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    /// Names of the sides, and what they were built from.
    pub(crate) sides: [String; 2],
    #[serde(skip_serializing_if = "String::is_empty")]
    /// The machine of a duel; empty if there are two files.
    pub machine: String,
    /// Seed of all orders of a duel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seed: Option<u64>,
    pub(crate) confidence: f64,
    /// Largest change that counts as none, as a share.
    pub(crate) margin: f64,
    /// Reasons why its quotients are less certain, the loudest first.
    pub(crate) doubts: Vec<Doubt>,
    /// How the files differ apart from their figures, a sentence each, and what else to know about them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) notes: Vec<String>,
    /// True if both sides ran on the same CPU model.
    #[serde(skip)]
    pub(crate) is_one_cpu: bool,
    /// Rows with their quotients, in the plan's order.
    pub rows: Vec<Compared>,
}

/// Parts of a row of memory.
const PARTS: [(&str, Option<Part>); 2] =
    [(", user", Some(Part::User)), (", with kernel", Some(Part::Together))];

/// The machine's own time in both files: the geometric mean of its yardsticks.
struct MachineChange {
    times: [Value; 2],
    /// Most by which the change of a yardstick differs from it beyond its interval, as a logarithm.
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
            notes: [header.map_or(Vec::new(), |run| run.notes.clone()), runs::notes(records)]
                .concat(),
            is_one_cpu: true,
            rows,
        }
    }

    /// Compares two files; `margin` is the largest change that counts as none, as a share.
    pub fn of_files(names: [&str; 2], figures: [&Figures<'_>; 2], margin: f64) -> Self {
        let [old, new] = figures;
        let machine = MachineChange::of(figures);
        let (mut rows, mut yardsticks) = (Vec::new(), Vec::new());
        for figure in old.iter().chain(new.iter().filter(|of| old.get(of.place()).is_none())) {
            let parts = if figure.metric().is_slope() { &PARTS[..] } else { &[("", None)] };
            for &(ending, part) in parts {
                let sides = figures.map(|figures| figures.get(figure.place()));
                let values = sides.map(|figure| value(figure?, part));
                let fault = match &values {
                    [None, None] => continue,
                    [Some(Err(why)), _] => Some(Why::Failed(format!("A: {why}"))),
                    [_, Some(Err(why))] => Some(Why::Failed(format!("B: {why}"))),
                    // Something that worked before and no longer does is the worst result of an upgrade.
                    [_, None] => Some(Why::Failed("not in B".to_owned())),
                    [None, _] => Some(Why::LeftOut("not in A".to_owned())),
                    _ => None,
                };
                let measured = match &values {
                    [Some(Ok(old)), Some(Ok(new))] if old.quantity == new.quantity => {
                        let machine = machine.as_ref().filter(|_| !figure.runs.is_yardstick());
                        Some(measured(figure.quantity(), [old, new], machine))
                    }
                    _ => None,
                };
                yardsticks.extend(figure.runs.is_yardstick().then_some(rows.len()));
                rows.push(Compared {
                    place: figure.place().clone(),
                    name: figure.name() + ending,
                    fault,
                    missing_on: match &values {
                        [None, _] => Some(Side::A),
                        [_, None] => Some(Side::B),
                        _ => None,
                    },
                    quotients: measured.into_iter().map(Quotient::from).collect(),
                    ..Compared::default()
                });
            }
        }
        quotient::judge(&mut rows, 1.0 - CONFIDENCE, margin, |_, _| None);
        // Work that depends on the machine alone is never to blame.
        for row in yardsticks {
            for quotient in
                rows[row].quotients.iter_mut().filter(|quotient| quotient.verdict.has_changed())
            {
                quotient.verdict = Verdict::Inconclusive(Reason::Machine);
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

/// Value of a figure or of a part of a size, or why there is none; `None` if the file does not have it.
fn value(figure: &Figure<'_>, part: Option<Part>) -> Option<Result<Value, String>> {
    Some(match (&figure.outcome, part) {
        (Outcome::Absent, _) => return None,
        (Outcome::Slope(slopes), _) if slopes.void => {
            Err("transparent huge pages make the slope meaningless".to_owned())
        }
        // A system that does not report the kernel's memory has no such row.
        (Outcome::Slope(_), Some(part)) => Ok(figure.part(part).ok()??),
        _ => figure.value(),
    })
}

/// A row of both files.
fn measured(quantity: Quantity, values: [&Value; 2], machine: Option<&MachineChange>) -> Measured {
    let is_timed = matches!(quantity, Quantity::Time | Quantity::Rate | Quantity::Throughput);
    let has_modes = values.iter().any(|value| value.modes.is_some());
    let machine = machine.filter(|_| is_timed && !has_modes);
    let beside = machine.and_then(|machine| Some((machine.change_beside(values)?, machine.apart)));
    let [old, new] = values;
    let (change, slack) =
        beside.map_or_else(|| (old.change_to(new), 0.0), |(change, slack)| (Ok(change), slack));
    Measured::of_values(quantity, values, change, slack)
}

impl MachineChange {
    /// The machine of two files; `None` unless they share a yardstick.
    fn of(figures: [&Figures<'_>; 2]) -> Option<Self> {
        let [old, new] = figures;
        let pairs = old.iter().filter(|figure| is_timed_yardstick(figure)).filter_map(|figure| {
            let other = new.get(figure.place()).filter(|other| is_timed_yardstick(other))?;
            // Another program takes another time, even if the machine is the same.
            let is_same = figure.runs.row.command.program == other.runs.row.command.program;
            let times = [figure.value().ok()?, other.value().ok()?];
            let are_sure = times.iter().all(|t| t.grade == Grade::Sure && t.modes.is_none());
            (is_same && are_sure).then_some(times)
        });
        let (old, new): (Vec<Value>, Vec<Value>) = pairs.map(|[old, new]| (old, new)).unzip();
        let times = [Value::mean_of(&old).ok()?, Value::mean_of(&new).ok()?];
        let mut machine = MachineChange { times, apart: 0.0 };
        let apart = old.iter().zip(&new).filter_map(|(old, new)| {
            let change = machine.change_beside([old, new])?.interval(CONFIDENCE)?;
            (!change.contains(0.0)).then_some(change.estimate.abs())
        });
        machine.apart = apart.fold(0.0, f64::max);
        Some(machine)
    }

    /// Its own change, as a ratio; `None` in too few rounds.
    fn change(&self) -> Option<Interval> {
        self.times[0].change_to(&self.times[1]).ok()?.ratio(CONFIDENCE)
    }

    /// Change of a figure beside the machine's own; `None` in too few rounds.
    fn change_beside(&self, values: [&Value; 2]) -> Option<Contrast> {
        let [old, new] = [0, 1].map(|file| values[file].beside(&self.times[file]).ok());
        old?.change_to(&new?).ok()
    }
}

/// How the files differ apart from their figures, how the machine changed, and doubts about either file.
fn notes(
    machines: Vec<Difference>,
    figures: [&Figures<'_>; 2],
    machine: Option<&MachineChange>,
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
    notes.push(match machine.map(MachineChange::change) {
        Some(Some(moved)) => format!(
            "Work that depends only on the machine changed by {}. The changes of other times are relative to it, round by \
             round; A and B are as measured. If a row has no verdict, `switchcost duel` may have one.",
            change(&moved.into())
        ),
        Some(None) => "Too few rounds tell how the machine changed, so times were compared as they are.".to_owned(),
        None => "The files share no row that depends only on the machine, so times were compared as they are."
            .to_owned(),
    });
    for (label, figures) in ["A", "B"].into_iter().zip(figures) {
        notes.extend(all_doubts(figures).iter().map(|doubt| format!("{label}: {doubt}")));
    }
    notes
}

fn is_timed_yardstick(figure: &Figure<'_>) -> bool {
    figure.runs.is_yardstick() && figure.quantity() == Quantity::Time
}

/// The first row with a different command.
fn differing_commands([old, new]: [&Figures<'_>; 2]) -> Vec<Difference> {
    let figures = old.iter().filter(|figure| figure.runs.ties().is_some());
    let mut commands = figures.filter_map(|figure| {
        let (old, new) = (command(figure), command(new.get(figure.place())?));
        (old != new).then(|| Difference { name: figure.place().name(), old, new })
    });
    let Some(first) = commands.next() else { return Vec::new() };
    match commands.count() {
        0 => vec![first],
        more => vec![Difference { name: format!("'{}' and {more} more", first.name), ..first }],
    }
}

/// Command line of a row, its CPUs and its scheduling policy. The same name promises the same question.
fn command(figure: &Figure<'_>) -> String {
    let (mut args, command) = (figure.runs.row.args(), &figure.runs.row.command);
    let tasks = args.iter().position(|arg| arg == "--tasks");
    if let Some(at) = tasks.filter(|_| figure.metric().is_slope()) {
        // A slope is made of processes with different counts.
        args.drain(at..args.len().min(at + 2));
    }
    let line = shell_line([&command.program].into_iter().chain(&args));
    let cpus = command.setting.cpus.iter().map(|cpus| format!(", CPUs {cpus}"));
    let policy = command.setting.policy.iter().map(|policy| format!(", policy {policy}"));
    line + &cpus.chain(policy).collect::<String>()
}
