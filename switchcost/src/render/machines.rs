//! The page of machines: for each question a table with a line for each machine, and a plot of their ratios.

use std::io::{self, Write};

use maud::html;

use super::fleet;
use super::html::{TITLE, figure, list, page, table};
use super::plot;
use crate::views::conclusion;
use crate::views::fleet::Fleet;

/// Commands that add a machine.
const GET: &str = "cargo install --git URL switchcost
switchcost --out answer.jsonl
switchcost share NAME answer.jsonl";

/// Writes machines side by side as a page.
pub fn machines(fleet: &Fleet, out: &mut impl Write) -> io::Result<()> {
    let document = fleet::document(fleet);
    let rows = fleet.rows.iter().flatten().flatten();
    let body = html! {
        main {
            h1 { (TITLE) }
            p.lead { (conclusion::of_answers("On these machines", rows)) }
            (list(document.head))
            @for (section, rows) in document.sections.iter().zip(&fleet.rows) {
                h3 { (section.title) }
                (table(&section.grid, &section.title))
                (figure(plot::of_machines(&section.title, &fleet.machines, rows)))
            }
            (list(document.foot))
            h3 { "Add yours" }
            p { "Measure on a quiet machine, and open a pull request with the file that this writes; it holds no \
                 host name, user, path or command. Nothing is sent by itself. URL is that of the repository." }
            pre { (GET) }
        }
    };
    page(TITLE, &body, out)
}
