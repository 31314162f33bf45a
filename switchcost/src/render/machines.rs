//! The page of machines: their ratios, what tells them apart, what a thread and an async task cost on each, and the
//! doubts about each.

use std::io::{self, Write};

use maud::html;

use super::fleet::{self, READ, RULE};
use super::html::{TITLE, page, part};
use super::plot::{self, Plot};
use crate::views::fleet::Fleet;

/// Commands that add a machine, in a clone.
const GET: &str = "mkdir results/NAME
cargo run --release -- --out results/NAME/answer.jsonl
gzip -9 results/NAME/answer.jsonl
cargo run -p xtask -- documents";

/// Writes machines side by side as a page. `project` is the way from the page to the project's root, if the page is one
/// of the project's own: then it has links to documents, and says how to add a machine.
pub fn machines(fleet: &Fleet, project: Option<&str>, out: &mut impl Write) -> io::Result<()> {
    let questions = fleet::costs(fleet).into_iter().zip(&fleet.rows).map(|(section, rows)| {
        let plot = plot::of_machines(&section.title, &fleet.machines, rows);
        (section, plot)
    });
    let mut questions: Vec<_> = questions.collect();
    // All plots have the same caption.
    let others = questions.iter_mut().skip(1).filter_map(|(_, plot)| plot.as_mut());
    others.for_each(|plot: &mut Plot| plot.caption.clear());
    let body = html! { main {
        h1 { (TITLE) }
        p { (READ) @if let Some(root) = project {
            " " a href={ (root) "/docs/READING.md#marks" } { "What the marks mean" }
            " · " a href={ (root) "/README.md" } { "The project" }
        } }
        @for section in [fleet::ratios(fleet), fleet::machines(fleet)] {
            h2 { (section.title) }
            (part(section, None))
        }
        h2 { "Costs" }
        @for (section, plot) in questions {
            h3 { (section.title) }
            (part(section, plot))
        }
        details {
            summary { h2 { "Facts and doubts of each machine" } }
            div { @for section in fleet::notes(fleet) {
                h3 { (section.title) }
                (part(section, None))
            } }
        }
        @if project.is_some() {
            h2 { "Add yours" }
            p { "Measure on a quiet machine, in a clone, and open a pull request with what these commands write. A results \
                 file holds neither the host's name nor the user's; of a path outside the clone, it holds only the last part." }
            pre { (GET) }
        }
    } };
    page(TITLE, &body, out)
}

/// Writes the tables of ratios and of machines as a Markdown page in the project's `docs`.
pub fn machines_in_short(fleet: &Fleet, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "# Machines: thread ÷ async task\n\n[`~`](READING.md#marks) marks disturbed figures.\n"
    )?;
    fleet::ratios(fleet).grid.write_markdown(out)?;
    writeln!(out)?;
    // In the project a machine's name tells both.
    fleet::machines(fleet).grid.without(&["CPUs", "kernel"]).write_markdown(out)?;
    writeln!(out, "\n{RULE} `switchcost report FILE --full` prints doubts.")
}
