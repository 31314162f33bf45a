//! The page of machines: a row for each, and in it each question's ratio and costs on axes that all machines share.

use std::io::{self, Write};

use maud::{Markup, PreEscaped, html};

use super::html::{TITLE, list, page, terms};
use super::plot::{Plot, SERIES, Strips};
use crate::figures::number::number;
use crate::views::answer::AnswerRow;
use crate::views::conclusion;
use crate::views::fleet::{Fleet, Machine};

const CSS: &str = include_str!("machines.css");

/// Sorts the rows; without it they stand in the order of the files.
const SCRIPT: &str = include_str!("sort.js");

/// Hash that lets this script run and no other: `openssl dgst -sha256 -binary sort.js | base64`.
const SCRIPT_HASH: &str = "'sha256-fks15CImCczYIdyYlmU4NYqZMldOY9O7TFMLnLBSkqA='";

const READ: &str = "The ratio thread ÷ task, and below it both costs, on log scales. Bars: 95 % intervals, from processes \
                    or sessions as samples. Open marks: not sure. Two marks of a kind: two groups of processes, whose \
                    mean describes neither. Compare ratios between machines; a time is of one machine.";

/// Commands that add a machine.
const GET: &str = "cargo install --git URL switchcost
switchcost --out answer.jsonl
switchcost share NAME answer.jsonl";

/// A question, with what the machines have to say: an item for each.
struct Question<'a> {
    name: &'a str,
    rows: &'a [Option<AnswerRow>],
    strips: Strips,
}

/// Writes machines side by side as a page.
pub fn machines(fleet: &Fleet, out: &mut impl Write) -> io::Result<()> {
    let questions: Vec<Question<'_>> =
        fleet.rows.iter().filter_map(|rows| question(rows)).collect();
    let doubts = fleet.machines.iter().flat_map(|machine| &machine.doubts);
    let words: Vec<&str> =
        questions.iter().map(|question| question.name).chain(doubts.map(String::as_str)).collect();
    let body = html! {
        main.machines {
            h1 { (TITLE) }
            p.lead { (conclusion::of_answers("On these machines", fleet.rows.iter().flatten().flatten())) }
            div.key { (Plot::key(&SERIES).inline()) }
            p.where { (READ) }
            (terms(&words.join(" ")))
            (sorting(&questions))
            table {
                thead { tr {
                    th scope="col" { button disabled value="0 name" { "Machine" } }
                    @for (index, question) in questions.iter().enumerate() {
                        th scope="col" {
                            button disabled value={ (index + 1) " ratio" } { (question.name) }
                        }
                    }
                } }
                tbody { @for (index, machine) in fleet.machines.iter().enumerate() {
                    tr {
                        (facts(machine))
                        @for question in &questions { (cell(question, index, &machine.name)) }
                    }
                } }
            }
            h2 { "Add yours" }
            p { "Measure on a quiet machine, and open a pull request with the file that this writes; it holds no \
                 host name, user, path or command. Nothing is sent by itself. URL is that of the repository." }
            pre { (GET) }
        }
        script { (PreEscaped(SCRIPT)) }
    };
    page(TITLE, &body, CSS, SCRIPT_HASH, out)
}

fn question(rows: &[Option<AnswerRow>]) -> Option<Question<'_>> {
    let known: Vec<&AnswerRow> = rows.iter().flatten().collect();
    Some(Question { name: &known.first()?.name, rows, strips: Strips::of(&known) })
}

/// Keys to sort by, shown once the script runs.
fn sorting(questions: &[Question<'_>]) -> Markup {
    html! {
        p.sort hidden {
            label { "Sort by " select {
                @for (key, name) in [("name", "name"), ("cpu", "CPU"), ("kernel", "kernel"), ("date", "date")] {
                    option value={ "0 " (key) } { (name) }
                }
                @for (index, question) in questions.iter().enumerate() {
                    optgroup label=(question.name) {
                        @for (key, name) in [("ratio", "thread ÷ task"), ("thread", "OS thread"), ("task", "async task")] {
                            option value={ (index + 1) " " (key) } { (question.name) ": " (name) }
                        }
                    }
                }
            } }
            " " button type="button" { "Reverse" }
        }
    }
}

/// A machine's own cell: what it is, and how far to trust it.
fn facts(machine: &Machine) -> Markup {
    let Machine { name, facts, cpu, kernel, date, doubts, trust, .. } = machine;
    html! {
        th scope="row" data-name=(name) data-cpu=[cpu] data-kernel=[kernel] data-date=[date] {
            strong { (name) }
            p { (facts) }
            @if let Some(date) = date { p.where { "Measured " (date) } }
            @for doubt in doubts.iter().take(1) { p.doubt { (doubt) } }
            @if doubts.len() + trust.len() > 0 { details {
                summary { @if doubts.len() > 1 { (doubts.len() - 1) " more doubts, conditions" } @else { "Conditions" } }
                @for doubt in doubts.iter().skip(1) { p.doubt { (doubt) } }
                (list(trust.clone()))
            } }
        }
    }
}

/// What a machine has to say to a question.
fn cell(question: &Question<'_>, machine: usize, name: &str) -> Markup {
    let Some(row) = question.rows.get(machine).and_then(Option::as_ref) else {
        return html! { td.absent { (super::ABSENT) } };
    };
    let [thread, task] = [row.thread, row.task].map(|cost| cost.show(row.metric.quantity()));
    let ratio = row.ratio.grade.mark(&format!("{}x", number(row.ratio.value)));
    let costs = format!("{thread} ÷ {task}");
    let title = |what: &str| format!("{name}: {}: {what}", question.name);
    let [ratio_ends, cost_ends] = question.strips.ends();
    html! {
        td data-ratio=(row.ratio.value) data-thread=(row.thread.value) data-task=(row.task.value) {
            div.label { (question.name) }
            div {
                span.ratio { (ratio) }
                @if let Some([low, high]) = row.bounds() {
                    " " span.interval { "[" (number(low)) ", " (number(high)) "]" }
                }
                (question.strips.ratio(&title(&ratio), row).inline())
                (labels(&ratio_ends))
            }
            div {
                (costs)
                (question.strips.costs(&title(&costs), row).inline())
                (labels(&cost_ends))
            }
        }
    }
}

fn labels([low, high]: &[String; 2]) -> Markup {
    html! { div.ends { span { (low) } span { (high) } } }
}
