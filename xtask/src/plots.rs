//! Plots, the pages of machines and the table of claims.

use anyhow::{Context, bail, ensure};
use host::units::Quantity;
use switchcost::render;
use switchcost::render::plot::{self, Plot};
use switchcost::views::fleet::{self, MachineResults};

use crate::claims;
use crate::definitions::{self, Block, Definition, Definitions, Picture, TablePlot};
use crate::law::Law;
use crate::page::{Fault, Page};
use crate::query;
use crate::records::{File, Records};

/// All plots, the pages of machines and the claims.
pub(crate) fn draw(
    definitions: &Definitions,
    records: &Records,
    faults: &mut Vec<Fault>,
) -> anyhow::Result<Vec<Page>> {
    let mut files = Vec::new();
    let mut add = |path: &str, text| files.push(Page { path: path.to_owned(), text });
    for (path, picture) in &definitions.plots {
        let drawn = match picture {
            Picture::Report(name) => plot(name, records),
            Picture::Table(table) => dots(table, definitions, records),
        };
        match drawn {
            Ok(text) => add(path, text),
            Err(error) => faults.push(definitions::fault(&format!("plots.{path}: {error:#}"))),
        }
    }
    let machines = machines(records)?;
    let (mut page, mut page_in_short) = (Vec::new(), Vec::new());
    render::fleet::project_page(&machines, &mut page)?;
    render::fleet::project_tables(&machines, &mut page_in_short)?;
    add("docs/machines.html", String::from_utf8(page)?);
    // What GitHub shows of it.
    add("docs/machines.md", String::from_utf8(page_in_short)?);
    match definitions.claims.csv(records) {
        Ok(text) => add("docs/claims.csv", text),
        Err(error) => {
            faults.push(Fault {
                file: claims::FILE.to_owned(),
                line: 1,
                what: format!("{error:#}"),
            });
        }
    }
    Ok(files)
}

/// A plot by its file and its name, as `switchcost report FILE --svg FOLDER` gives it.
fn plot(definition: &str, records: &Records) -> anyhow::Result<String> {
    let (file, name) = definition.split_once(": ").context("write MACHINE/FILE: NAME")?;
    if let Some(machine) = file.strip_suffix("/law") {
        return Law { records, machine }.plot();
    }
    let File::Figures { figures, answer, .. } = records.get(file)? else {
        bail!("{file} has no plots")
    };
    let mut plots = plot::files(figures, answer.as_deref()).into_iter();
    let found = plots.find(|(own, _)| own.trim_end_matches(".svg") == name);
    Ok(found.context("there is no such plot")?.1)
}

/// A plot of some columns of a page's table.
fn dots(
    picture: &TablePlot,
    definitions: &Definitions,
    records: &Records,
) -> anyhow::Result<String> {
    let Some(Definition::Block(Block::Table(table))) = definitions.get(&picture.table) else {
        bail!("there is no table {}", picture.table)
    };
    let place = |column: &String| table.head[1..].iter().position(|head| head == column);
    let places: Option<Vec<usize>> = picture.columns.iter().map(place).collect();
    let places = places.context("the table lacks one of the columns")?;
    ensure!(places.len() <= plot::MOST_SERIES, "a plot has {} columns at most", plot::MOST_SERIES);
    let (mut rows, mut quantity, mut file) = (Vec::new(), None, "");
    let lines = table.cells()?;
    for (name, cells) in &lines {
        let mut figures = Vec::new();
        for place in &places {
            let definition = &cells[*place];
            let value = query::plotted(definition, records)?;
            let unit = value.quantity.unwrap_or(Quantity::Count);
            ensure!(
                *quantity.get_or_insert(unit) == unit,
                "{name}: the columns differ in their units"
            );
            figures.push(Some(value));
            file = definition.split_once(": ").context("the table is not of one file")?.0;
        }
        rows.push((name.clone(), figures));
    }
    let quantity = quantity.context("the table has no rows")?;
    let mut plot = Plot::new(&picture.title, "");
    plot.note = query::shown(&format!("{file}: machine"), records)?.0;
    Ok(plot::dots(plot, &picture.axis, &picture.columns, &rows, quantity).file())
}

/// All answers side by side.
fn machines(records: &Records) -> anyhow::Result<Vec<MachineResults<'static>>> {
    let machines = records.answers()?.into_iter().filter_map(|(path, file)| match file {
        File::Figures { figures, answer } => {
            Some(MachineResults::new(&path, figures.records.into(), answer.as_deref().cloned()))
        }
        _ => None,
    });
    fleet::side_by_side(machines.collect()).context("no file has an answer")
}
