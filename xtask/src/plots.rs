//! Plots and the page of machines.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use contract::units::Quantity;
use switchcost::figures::Figures;
use switchcost::measure::store;
use switchcost::render;
use switchcost::render::plot::{self, Scatter, Series};
use switchcost::views::answer::Answer;
use switchcost::views::fleet::Fleet;

use crate::Fault;
use crate::definitions::Definitions;
use crate::law::{Kind, Law};
use crate::records::{File, Records};

/// Pieces that a curved line is drawn with.
const STEPS: u32 = 40;

const PAGE_OF_MACHINES: &str = "docs/machines.html";

/// Draws all plots and writes the page of machines; with `check` says which differ from their records.
pub(crate) fn draw(
    root: &Path,
    definitions: &Definitions,
    records: &Records,
    check: bool,
) -> anyhow::Result<Vec<Fault>> {
    let mut files = Vec::new();
    for (path, definition) in &definitions.plots {
        files.push((path.clone(), plot(definition, records).with_context(|| path.clone())?));
    }
    files.push((PAGE_OF_MACHINES.to_owned(), machines(root, records)?));
    let mut faults = Vec::new();
    for (file, text) in files {
        if fs::read_to_string(root.join(&file)).is_ok_and(|old| old == text) {
            continue;
        }
        if check {
            faults.push(Fault { file, line: 1, what: "it differs from its records".to_owned() });
        } else {
            fs::write(root.join(file), text)?;
        }
    }
    Ok(faults)
}

/// A plot by its file and its name, as `switchcost report FILE --svg FOLDER` gives it.
fn plot(definition: &str, records: &Records) -> anyhow::Result<String> {
    let (file, name) = definition.split_once(": ").context("write MACHINE/FILE: NAME")?;
    match records.get(file)? {
        File::Law(law) => Ok(of_law(law)),
        File::Figures { figures, answer, .. } => {
            let mut plots = plot::files(figures, answer.as_ref()).into_iter();
            let found = plots.find(|(own, _)| own.trim_end_matches(".svg") == name);
            Ok(found.context("there is no such plot")?.1)
        }
        _ => bail!("{file} has no plots"),
    }
}

/// A hop over the sleepers in a slot, with a line of the law for each number of sleepers.
fn of_law(law: &Law) -> String {
    let hops: &Kind = law.of_hops();
    let series = hops.lines.iter().map(|line| {
        let points: Vec<(f64, f64)> = line.cells.iter().map(|cell| (cell.x, cell.y)).collect();
        let ends = points.iter().map(|(x, _)| (*x, *x));
        let ends = ends.reduce(|(low, high), (x, _)| (low.min(x), high.max(x)));
        let (first, last) = ends.unwrap_or((1.0, 1.0));
        let steps =
            (0..=STEPS).map(|k| first * (last / first).powf(f64::from(k) / f64::from(STEPS)));
        let line_points = steps.map(|x| (x, hops.at(line, x))).collect();
        Series { name: format!("{} sleepers", line.name), points, line: line_points }
    });
    let plot = Scatter {
        title: "A hop between threads on one CPU, over the sleepers in a slot".to_owned(),
        note: law.machine.clone(),
        axes: ["sleepers ÷ slots", "time per hop"].map(str::to_owned),
        caption: "Points: ten sizes of the table. Lines: the law, fitted to every other point."
            .to_owned(),
        series: series.collect(),
    };
    plot.file(Quantity::Time)
}

/// The page of all answers.
fn machines(root: &Path, records: &Records) -> anyhow::Result<String> {
    let paths = records.answers()?;
    let mut files = Vec::new();
    for path in &paths {
        files.push((path.strip_prefix(root).unwrap_or(path), store::read(path)?.records));
    }
    let answers: Vec<Option<Answer>> =
        files.iter().map(|(_, records)| Answer::of(&Figures::of(records))).collect();
    let fleet = Fleet::of(&files, &answers).context("no file has an answer")?;
    let mut page = Vec::new();
    render::machines(&fleet, &mut page)?;
    Ok(String::from_utf8(page)?)
}
