//! A page that needs no other file, no script and no network.

use std::io::{self, Write};

use host::units::counted;
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::render::document::{Document, Section, TextLine};
use crate::render::grid::Grid;
use crate::render::plot::{self, Plot};

const CSS: &str = include_str!("page.css");

/// Policy that keeps the page from running or loading anything, should an escape ever be forgotten.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/// Most doubts that stand open at the top.
const BANNERS: usize = 3;

/// Writes documents as one page.
pub(crate) fn write(documents: &[Document], out: &mut impl Write) -> io::Result<()> {
    let title = documents.first().map_or("", |document| &document.title);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(plot::THEME)) (PreEscaped(plot::CSS)) (PreEscaped(CSS)) }
            }
            body { main { @for document in documents { (body(document)) } } }
        }
    };
    out.write_all(page.0.as_bytes())
}

/// What stands open, then the titles of what is folded, and that.
fn body(document: &Document) -> Markup {
    let (folded, open): (Vec<&Section>, Vec<&Section>) =
        document.sections.iter().partition(|section| section.is_folded);
    html! {
        header {
            h1 { (document.title) }
            (banners(&document.doubts))
            @for line in &document.head { p.lead { (line.text) } }
        }
        @for section in open {
            @if !section.title.is_empty() { h2 { (section.title) } }
            (part(section))
        }
        @for line in &document.foot { p { (line.text) } }
        @for (name, target) in &document.links { p { a href=(target) { (name) } } }
        @if !folded.is_empty() {
            nav aria-label="Contents" { ul {
                @for (index, section) in folded.iter().enumerate() {
                    li { a href={ "#part-" (index) } { (section.title) } }
                }
            } }
        }
        @for (index, section) in folded.iter().enumerate() {
            // A link to what is inside unfolds it.
            details {
                summary { h2 { (section.title) } }
                div id={ "part-" (index) } { (part(section)) }
            }
        }
    }
}

fn banners(doubts: &[TextLine]) -> Markup {
    let (open, folded) = doubts.split_at(doubts.len().min(BANNERS));
    html! {
        @for doubt in open { p.banner role="alert" { (doubt.text) } }
        @if !folded.is_empty() {
            details {
                summary { (counted(folded.len(), "more doubt")) }
                div { (list(folded)) }
            }
        }
    }
}

/// A table, its plot, and what is said of them.
fn part(section: &Section) -> Markup {
    html! {
        @if !section.grid.head.is_empty() { (table(&section.grid, &section.title)) }
        @if let Some(plot) = &section.plot { (figure(plot)) }
        (list(&section.lines))
    }
}

/// A table that scrolls by itself if it is too wide, and then shows that it does; one of many columns keeps its
/// names in sight.
fn table(grid: &Grid, title: &str) -> Markup {
    html! {
        div.scroll.wide[grid.head.len() > 3] tabindex="0" role="region" aria-label=(title) {
            table {
                thead { tr {
                    @for head in &grid.head {
                        @if head.is_empty() { td {} } @else { th scope="col" { (head) } }
                    }
                } }
                tbody { @for line in &grid.body { @if let Some((name, cells)) = line.split_first() {
                    tr class=[name.starts_with(' ').then_some("derived")] {
                        th scope="row" { (name.trim_start()) }
                        // An interval stays in one line.
                        @for cell in cells { td { (cell.replace(", ", ",\u{a0}")) } }
                    }
                } } }
            }
        }
    }
}

/// A plot with its caption, if it has one.
fn figure(plot: &Plot) -> Markup {
    html! { figure {
        (plot.inline())
        @if !plot.caption.is_empty() { figcaption { (plot.caption) } }
    } }
}

/// Sentences and commands: a single sentence as a paragraph, several as a list.
fn list(lines: &[TextLine]) -> Markup {
    let (commands, sentences): (Vec<&TextLine>, Vec<&TextLine>) =
        lines.iter().partition(|line| line.is_command);
    html! {
        @match &sentences[..] {
            [] => {}
            [line] => p { (line.text) }
            lines => ul { @for line in lines { li { (line.text) } } }
        }
        @if !commands.is_empty() {
            pre { @for command in commands { (command.text) "\n" } }
        }
    }
}
