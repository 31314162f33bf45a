//! A table or a curve of the page with its plots.

use std::io::{self, Write};

use record::Metric;

use super::markup::Escaped;
use crate::analysis::{Cell, Curve, Table};
use crate::render::plot::{self, Size, dot, swatch};
use crate::render::{Grid, curve_grid, curves, evidence, grid, memory, scale};
use crate::scale::Reach;

/// Writes a table of the analysis with its plots.
pub(super) fn table(table: &Table, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<section>\n<h2>{}</h2>", Escaped(&table.title))?;
    match table.has_further() {
        true => scrolled_by(WIDE, &grid(table), &table.title, out)?,
        false => scrolled(&grid(table), &table.title, out)?,
    }
    match table.metric {
        Metric::Memory => slopes(table, out)?,
        _ => strips(table, out)?,
    }
    let counted = evidence::lines(table);
    if !counted.is_empty() {
        writeln!(out, "<ul>")?;
        for line in counted {
            writeln!(out, "<li>{}</li>", Escaped(&line))?;
        }
        writeln!(out, "</ul>")?;
    }
    writeln!(out, "</section>")
}

/// The classes of a table that a phone shows in taller lines, and of one that it must scroll as well:
/// the names of its rows stay.
const TALL: &str = "scroll tall";
const WIDE: &str = "scroll tall wide";

fn scrolled(grid: &Grid, title: &str, out: &mut impl Write) -> io::Result<()> {
    scrolled_by(TALL, grid, title, out)
}

fn scrolled_by(class: &str, grid: &Grid, title: &str, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "<div class=\"{class}\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">",
        Escaped(title)
    )?;
    grid.write_html(out)?;
    writeln!(out, "</div>")
}

fn strips(table: &Table, out: &mut impl Write) -> io::Result<()> {
    let table = &table.of_own_metric();
    let Some(wide) = plot::strip(table, Size::Wide) else {
        return Ok(());
    };
    let narrow = plot::strip(table, Size::Narrow).unwrap_or_default();
    writeln!(out, "<figure>\n{wide}{narrow}<figcaption>")?;
    if table.columns.len() > 1 {
        legend(table.columns.iter().map(String::as_str), dot, out)?;
    }
    let two_modes = table
        .rows
        .iter()
        .flat_map(|row| &row.cells)
        .any(|cell| matches!(cell, Cell::Reading(reading) if reading.modes.is_some()));
    let modes = if two_modes { " Diamonds: the centres of two groups of processes." } else { "" };
    writeln!(
        out,
        "Each dot is the mean of one process. The bar below is the 95 % interval of their mean, \
         the stroke the mean itself.{modes}</figcaption>\n</figure>"
    )
}

fn slopes(table: &Table, out: &mut impl Write) -> io::Result<()> {
    let plots = plot::memory(table, Size::Half);
    if plots.is_empty() {
        return Ok(());
    }
    let names = memory::names(table);
    writeln!(out, "<figure class=\"pair\">")?;
    for svg in plots {
        write!(out, "{svg}")?;
    }
    writeln!(out, "<figcaption>")?;
    legend(names.iter().map(String::as_str), swatch, out)?;
    writeln!(
        out,
        "Each point is one run with its tasks at rest, each line the least squares through them: \
         its slope is the memory of a task.</figcaption>\n</figure>"
    )
}

/// Writes a curve with its table.
pub(super) fn curve(curve: &Curve, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "<section>\n<h2>{}</h2>", Escaped(&curve.title))?;
    let marks = curve.marks();
    if let Some(wide) = plot::curve(curve, &marks, Size::Wide) {
        let narrow = plot::curve(curve, &marks, Size::Narrow).unwrap_or_default();
        writeln!(out, "<figure>\n{wide}{narrow}<figcaption>")?;
        let names = curve.series.iter().map(|series| series.name.as_str());
        legend(names, swatch, out)?;
        writeln!(
            out,
            "Bars: 95 % intervals of the mean of the processes. Two points above each other, one \
             of them hollow: two groups of processes.</figcaption>\n</figure>"
        )?;
    }
    writeln!(
        out,
        "<h3>{} by --{}</h3>",
        curve.metric.label(),
        Escaped(&curve.over.replace('_', "-"))
    )?;
    scrolled(&curve_grid(curve), &curve.title, out)?;
    if let Some(grid) = curves::calls_grid(curve) {
        writeln!(out, "<p>{}</p>", Escaped(curves::CALLS))?;
        scrolled(&grid, curves::CALLS, out)?;
    }
    writeln!(out, "<ul>")?;
    for line in curves::lines(curve) {
        writeln!(out, "<li>{}</li>", Escaped(&line))?;
    }
    writeln!(out, "</ul>\n</section>")
}

/// Writes how far each program got, if that was asked.
pub(super) fn reaches(reaches: &[Reach], out: &mut impl Write) -> io::Result<()> {
    if reaches.is_empty() {
        return Ok(());
    }
    writeln!(out, "<section>\n<h2>{}</h2>", Escaped(scale::TITLE))?;
    scrolled(&scale::grid(reaches), scale::TITLE, out)?;
    writeln!(out, "<ul>")?;
    for line in scale::lines(reaches) {
        writeln!(out, "<li>{}</li>", Escaped(&line))?;
    }
    writeln!(out, "</ul>\n<p>{}</p>\n</section>", Escaped(scale::LEGEND))
}

fn legend<'a>(
    names: impl Iterator<Item = &'a str>,
    sign: fn(usize) -> String,
    out: &mut impl Write,
) -> io::Result<()> {
    writeln!(out, "<ul class=\"legend\">")?;
    for (index, name) in names.enumerate() {
        writeln!(out, "<li>{}{}</li>", sign(index), Escaped(name))?;
    }
    writeln!(out, "</ul>")
}
