//! The page of machines: their ratios, what tells them apart, what a thread and an async task cost on each, and the
//! doubts about each.

use std::io::{self, Write};

use maud::html;

use super::fleet::{self, READ, RULE};
use super::html::{TITLE, page, part};
use super::plot::{self, Plot};
use crate::views::fleet::{Machine, questions};

/// Commands that add a machine, in a clone.
const GET: &str = "mkdir results/NAME
cargo run --release -- --out results/NAME/answer.jsonl
gzip -9 results/NAME/answer.jsonl
cargo run -p xtask -- documents";

/// Writes machines side by side as a page. `project` is the way from the page to the project's root, if the page is one
/// of the project's own: then it has links to documents, and says how to add a machine.
pub fn machines(
    all: &[Machine<'_>],
    project: Option<&str>,
    out: &mut impl Write,
) -> io::Result<()> {
    let costs = questions(all).into_iter();
    let costs =
        costs.map(|question| (fleet::costs(all, question), plot::of_machines(all, question)));
    let mut costs: Vec<_> = costs.collect();
    // All plots have the same caption.
    let others = costs.iter_mut().skip(1).filter_map(|(_, plot)| plot.as_mut());
    others.for_each(|plot: &mut Plot| plot.caption.clear());
    let body = html! { main {
        h1 { (TITLE) }
        p { (READ) @if let Some(root) = project {
            " " a href={ (root) "/docs/READING.md#marks" } { "What the marks mean" }
            " · " a href={ (root) "/README.md" } { "The project" }
        } }
        @for section in [fleet::ratios(all), fleet::machines(all)] {
            h2 { (section.title) }
            (part(section, None))
        }
        h2 { "Costs" }
        @for (section, plot) in costs {
            h3 { (section.title) }
            (part(section, plot))
        }
        details {
            summary { h2 { "Facts and doubts of each machine" } }
            div { @for section in all.iter().map(|machine| fleet::notes(all, machine)) {
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
pub fn machines_in_short(all: &[Machine<'_>], out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "# Machines: thread ÷ async task\n\n[`~`](READING.md#marks) marks disturbed figures.\n"
    )?;
    fleet::ratios(all).grid.write_markdown(out)?;
    writeln!(out)?;
    // In the project a machine's name tells both.
    fleet::machines(all).grid.without(&["CPUs", "kernel"]).write_markdown(out)?;
    writeln!(out, "\n{RULE} `switchcost report FILE --full` prints doubts.")
}
