//! The page of machines: a table with a row for each, which can be sorted, and a plot of each question's ratios.

use std::io::{self, Write};

use maud::{Markup, PreEscaped, html};

use super::html::{TITLE, figure, list, page};
use super::plot::{self, Plot};
use crate::figures::number::number;
use crate::views::answer::AnswerRow;
use crate::views::conclusion;
use crate::views::fleet::{Fleet, Machine};

const CSS: &str = include_str!("machines.css");

/// Sorts the rows; without it they stand in the order of the files.
const SCRIPT: &str = include_str!("sort.js");

/// Hash that lets this script run and no other: `openssl dgst -sha256 -binary sort.js | base64`.
const SCRIPT_HASH: &str = "'sha256-fks15CImCczYIdyYlmU4NYqZMldOY9O7TFMLnLBSkqA='";

const READ: &str = "The ratio thread ÷ task with its 95 % interval, from processes or sessions as samples, and below it \
                    both costs. Two figures of a kind: two groups of processes, whose mean describes neither. Compare \
                    ratios between machines; a time is of one machine.";

/// Commands that add a machine.
const GET: &str = "cargo install --git URL switchcost
switchcost --out answer.jsonl
switchcost share NAME answer.jsonl";

/// A question, with what the machines have to say: an item for each.
struct Question<'a> {
    name: &'a str,
    rows: &'a [Option<AnswerRow>],
}

/// Writes machines side by side as a page.
pub fn machines(fleet: &Fleet, out: &mut impl Write) -> io::Result<()> {
    let questions: Vec<Question<'_>> =
        fleet.rows.iter().filter_map(|rows| question(rows)).collect();
    let body = html! {
        main.machines {
            h1 { (TITLE) }
            p.lead { (conclusion::of_answers("On these machines", fleet.rows.iter().flatten().flatten())) }
            p.where { (READ) }
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
                        @for question in &questions { (cell(question, index)) }
                    }
                } }
            }
            div.plots { @for question in &questions { div {
                h3 { (question.name) }
                (figure(plot(question, &fleet.machines)))
            } } }
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
    Some(Question { name: &rows.iter().flatten().next()?.name, rows })
}

/// Ratios of the machines that answer a question.
fn plot(question: &Question<'_>, machines: &[Machine]) -> Option<Plot> {
    let named = machines.iter().zip(question.rows);
    let rows: Vec<_> =
        named.filter_map(|(machine, row)| Some((machine.name.clone(), row.as_ref()?))).collect();
    let sides = rows.first()?.1.sides();
    Some(plot::ratios(question.name, sides, &rows, "thread ÷ task"))
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
fn cell(question: &Question<'_>, machine: usize) -> Markup {
    let Some(row) = question.rows.get(machine).and_then(Option::as_ref) else {
        return html! { td.absent { (super::ABSENT) } };
    };
    let [thread, task] = [row.thread, row.task].map(|cost| cost.show(row.metric.quantity()));
    let ratio = row.ratio.grade.mark(&format!("{}x", number(row.ratio.value)));
    html! {
        td data-ratio=(row.ratio.value) data-thread=(row.thread.value) data-task=(row.task.value) {
            div.label { (question.name) }
            div {
                span.ratio { (ratio) }
                @if let Some([low, high]) = row.bounds() {
                    " " span.interval { "[" (number(low)) ", " (number(high)) "]" }
                }
            }
            div { (thread) " ÷ " (task) }
        }
    }
}
