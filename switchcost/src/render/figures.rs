//! Figures of records: the answer alone or all tables and curves, and a page with everything.

use figures::conditions::{Conditions, all_doubts};
use figures::part::Part;
use figures::session_spread::SPREAD;
use figures::{Figure, Figures, Outcome, doubt, known, provenance, sessions, unique};
use host::units::counted;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};
use stats::{Estimate, MIN_ROUNDS};

use super::document::{Document, Section, TextLine, sentences};
use super::grid::Grid;
use super::report::{Report, Spreadsheet};
use super::{answer, curves, plot, tables};
use crate::views::answer::Answer;
use crate::views::conclusion;
use crate::views::tables as views;

/// Figures of records, and their answer.
pub struct FiguresReport<'a> {
    pub figures: &'a Figures<'a>,
    /// `None` if they are of a plan of tables alone.
    pub answer: Option<&'a Answer>,
    /// True if people see all tables, and not the answer alone.
    pub full: bool,
    /// The command that prints all tables, if it can be typed.
    pub more: Option<String>,
}

impl Report for FiguresReport<'_> {
    fn documents(&self) -> Vec<Document> {
        vec![match self.answer {
            Some(answer) if !self.full => answer::document(answer, self.more.as_deref()),
            _ => document(self.figures),
        }]
    }

    fn pages(&self) -> Vec<Document> {
        vec![page(self.figures, self.answer)]
    }

    fn spreadsheet(&self) -> Spreadsheet {
        Spreadsheet { columns: COLUMNS, lines: self.figures.iter().flat_map(lines_of).collect() }
    }
}

impl Serialize for FiguresReport<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let report = json!({
            "records": self.figures.records.len(),
            "doubts": all_doubts(self.figures),
            "figures": self.figures.iter().collect::<Vec<_>>(),
            "curves": views::curves(self.figures),
            "answer": self.answer,
        });
        report.serialize(serializer)
    }
}

/// Heading of a page that tells a thread's cost from an async task's.
pub(super) const TITLE: &str = "What a thread and an async task cost";

const READ: &str = "A task hands a token to the next: that is a hop. The process is the sample: each case runs in \
                    fresh processes, once a round, in shuffled order, and an interval covers the mean of such \
                    processes with 95 % confidence. Times are at the machine's quiet speed: the slowdown that a probe \
                    around each slice shows is removed. Differences and ratios are taken inside each round. An \
                    interval with zero in it, or one for a ratio, shows no difference. If the processes fall into two \
                    groups, both are shown, because their mean describes neither. No run is dropped. \
                    docs/METHODOLOGY.md says how and why.";

/// Words of the tables, and what each is.
const WORDS: [(&str, &str); 9] = [
    ("hop", "a task hands a token to the next one"),
    ("unpinned", "the kernel chooses the CPUs"),
    ("one CPU", "all tasks share one CPU, so nobody is woken on another"),
    ("futex", "a word in memory on which the kernel lets a thread sleep and wakes it"),
    ("channel", "a queue in memory by which tasks hand over messages"),
    ("at rest", "all tasks wait; a size is the slope of memory over their number"),
    (
        "minimal executor",
        "some 200 lines that poll tasks on one thread: the least that a runtime must do",
    ),
    ("yardstick", "work that depends on the machine alone; if it moves, the machine did"),
    ("p99", "99 of 100 are no later"),
];

/// Columns of figures: the name of each, and where its value is in a line's JSON. There is a line for each row, and for
/// each point of a curve. Times are in ns, sizes in bytes, rates and throughputs per second, and counts of the evidence
/// per hop; what is unknown is left empty.
const COLUMNS: &[(&str, &str)] = &[
    ("section", "/section"),
    ("row", "/row"),
    ("column", "/column"),
    ("metric", "/metric"),
    ("x", "/x"),
    ("n", "/mean/n"),
    ("failed", "/failed"),
    ("mean", "/mean/value"),
    ("low", "/mean/interval/low"),
    ("high", "/mean/interval/high"),
    ("median", "/median"),
    ("min", "/min"),
    ("p50", "/percentiles/0"),
    ("p90", "/percentiles/1"),
    ("p99", "/percentiles/2"),
    ("max", "/percentiles/3"),
    ("net", "/net/value"),
    ("net_low", "/net/interval/low"),
    ("net_high", "/net/interval/high"),
    ("ratio", "/ratio/value"),
    ("ratio_low", "/ratio/interval/low"),
    ("ratio_high", "/ratio/interval/high"),
    ("noise_low", "/noise/low"),
    ("noise_high", "/noise/high"),
    ("switches", "/evidence/switches"),
    ("preemptions", "/evidence/preemptions"),
    ("wakeups", "/evidence/wakeups"),
    ("calls", "/evidence/calls"),
    ("hops_per_wait", "/evidence/hops_per_wait"),
    ("grade", "/grade"),
    ("ratio_grade", "/ratio/grade"),
];

/// Figures in full.
pub fn document(figures: &Figures<'_>) -> Document {
    let mut head = conclusion::parts(figures);
    head.extend(origin(figures));
    Document {
        title: title(figures, None).to_owned(),
        doubts: sentences(all_doubts(figures).iter().map(ToString::to_string)),
        head: sentences(head),
        sections: sections(figures),
        foot: sentences(foot(figures)),
        ..Document::default()
    }
}

/// All tables and curves.
fn sections(figures: &Figures<'_>) -> Vec<Section> {
    let tables = views::tables(figures);
    let tables =
        tables.iter().map(|table| Section { plot: plot::table(table), ..tables::section(table) });
    let curves = views::curves(figures);
    let curves = curves.iter().flat_map(|curve| {
        let section = Section { plot: plot::curve(curve), ..curves::section(curve) };
        [Some(section), curves::steps(curve)].into_iter().flatten()
    });
    tables.chain(curves).collect()
}

/// All that is known on one page: the answer stands open, and all else is folded.
fn page(figures: &Figures<'_>, answer: Option<&Answer>) -> Document {
    let full = document(figures);
    let mut page = match answer {
        Some(answer) => answer::document(answer, None),
        None => Document { head: full.head.clone(), ..Document::default() },
    };
    if answer.is_some_and(|answer| !answer.is_of_threads()) {
        page.head.extend(sentences(conclusion::parts(figures)));
    }
    page.title = title(figures, answer).to_owned();
    let in_answer = answer.map_or(Vec::new(), |answer| answer.doubts.clone());
    let doubts = doubt::merged(in_answer.into_iter().chain(all_doubts(figures)));
    let alarm = answer.and_then(|answer| answer.beside.as_ref()).map(|beside| beside.alarm());
    page.doubts = sentences(alarm.into_iter().chain(doubts.iter().map(ToString::to_string)));
    page.head
        .extend(provenance::started(figures.records).map(|at| format!("Measured {at}.").into()));
    let notes = [
        ("Notes", full.foot),
        ("Machine and build", facts(figures)),
        ("How to repeat", repeat(figures)),
    ];
    let words = WORDS.iter().map(|(word, meaning)| format!("{word}: {meaning}"));
    let reading = sentences([READ.to_owned()].into_iter().chain(words));
    let notes = notes.into_iter().chain([("How to read", reading)]);
    let notes =
        notes.map(|(title, lines)| Section { lines, ..Section::new(title, Grid::default(), []) });
    let mut folded: Vec<Section> = full.sections.into_iter().chain(notes).collect();
    // If there is no answer, the first table is it.
    let open = usize::from(answer.is_none());
    folded.iter_mut().skip(open).for_each(|section| section.is_folded = true);
    page.sections.extend(folded);
    page
}

/// The question of the plan, if all is of one.
fn title<'a>(figures: &'a Figures<'a>, answer: Option<&Answer>) -> &'a str {
    let mut questions: Vec<&Option<String>> =
        provenance::runs(figures.records).iter().map(|run| &run.question).collect();
    questions.dedup();
    match questions[..] {
        [Some(question)] => question,
        _ if answer.is_some_and(|answer| !answer.is_of_threads()) => "What each row costs",
        _ => TITLE,
    }
}

/// Where the records come from, and what they do not show.
fn origin(figures: &Figures<'_>) -> Vec<String> {
    let records = figures.records;
    let runs = provenance::runs(records);
    let rounds = records.iter().map(|record| record.round.saturating_add(1)).max().unwrap_or(1);
    let runtimes = provenance::runtimes(records).into_iter().map(|name| format!(", {name}"));
    let from = format!(
        "{} in {} (seed {}), {}{}",
        counted(records.len(), "run"),
        counted(rounds, "round"),
        runs.first().map_or(0, |run| run.seed),
        runs.iter()
            .find_map(|run| run.build.get("rustc")?.as_str())
            .unwrap_or("unknown version of rustc"),
        runtimes.collect::<String>(),
    );
    let notes = provenance::runs(records).into_iter().flat_map(|run| run.notes.clone());
    [provenance::machines(records), from].into_iter().chain(unique(notes)).collect()
}

/// Remarks on all tables: how to read them, and doubts about them.
fn foot(figures: &Figures<'_>) -> Vec<String> {
    let intervals = match sessions::of(figures.records).len() {
        0 | 1 => &format!(
            "95 % confidence intervals, which allow for differences between sessions (standard deviation {SPREAD})"
        ),
        few if few < MIN_ROUNDS => "the span of the sessions' 95 % confidence intervals",
        _ => "95 % confidence intervals, with sessions as samples",
    };
    let mut lines = vec![format!(
        "In brackets: {intervals}. Times are corrected to the machine's quiet speed. ~ marks a disturbed figure; \
         ! marks a figure that its counters contradict."
    )];
    let known = known::measured(figures);
    let known: Vec<String> = known.iter().map(ToString::to_string).collect();
    lines.extend(
        (!known.is_empty()).then(|| format!("Beside known machines: {}.", known.join("; "))),
    );
    lines.extend(figures.speed.correction().map(|errors| format!("Correction: {errors}.")));
    lines.push(Conditions::of(figures).to_string());
    lines
}

/// Every fact of the machine and the build, known to this version or not.
fn facts(figures: &Figures<'_>) -> Vec<TextLine> {
    let header = figures.records.first().map(|record| &record.header);
    let maps =
        header.map_or([Value::Null, Value::Null], |run| [json!(run.machine), json!(run.build)]);
    let facts =
        maps.iter().filter_map(Value::as_object).flatten().filter(|(_, value)| !value.is_null());
    let facts = facts
        .map(|(name, value)| format!("{}: {}", name.replace('_', " "), provenance::shown(value)));
    sentences(facts.chain(provenance::runtimes(figures.records)))
}

/// The commands that measure all of it again, with the seed that sets the order.
fn repeat(figures: &Figures<'_>) -> Vec<TextLine> {
    let sentence = "The same cases in the same order; `switchcost run --list` prints the command of each case:";
    let commands = provenance::runs(figures.records).into_iter().map(|run| {
        let verb = if run.command.is_empty() { "run" } else { &run.command };
        let seed = if run.command.contains("--seed") {
            String::new()
        } else {
            format!(" --seed {}", run.seed)
        };
        TextLine::command(format!("cargo run --release -- {verb}{seed}"))
    });
    [TextLine::from(sentence.to_owned())].into_iter().chain(commands).collect()
}

/// The lines of a figure, as JSON has it. A row of memory has up to three of them: its metric is `memory-user`,
/// `memory-kernel` or, for both together, `memory`.
fn lines_of(figure: &Figure<'_>) -> Vec<Value> {
    let mut line = json!(figure);
    match &figure.outcome {
        Outcome::Measured(_) => vec![line],
        Outcome::Slope(slopes) => {
            let parts = [("", Part::Together), ("-user", Part::User), ("-kernel", Part::Kernel)];
            let lines = parts.into_iter().filter_map(|(end, part)| {
                let slope = Estimate::from(slopes.part(part)?.line.slope);
                let mut of_part = line.clone();
                of_part["metric"] = json!(format!("{}{end}", figure.metric()));
                of_part["mean"] = json!(slope);
                // Only the first line has the ratio: of all memory if that is known, else of user memory.
                line["ratio"] = Value::Null;
                Some(of_part)
            });
            lines.collect()
        }
        Outcome::Missing(_) | Outcome::Absent => {
            line["mean"] = json!({"n": 0});
            line["grade"] = Value::Null;
            vec![line]
        }
    }
}
