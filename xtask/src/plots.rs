//! Plots and the page of machines.

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use contract::console;
use switchcost::render;
use switchcost::render::plot;
use switchcost::views::fleet::Fleet;

use crate::Fault;
use crate::definitions::Definitions;
use crate::law::Law;
use crate::records::{File, Records};

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
    files.push((PAGE_OF_MACHINES.to_owned(), machines(records)?));
    let mut faults = Vec::new();
    for (file, text) in files {
        if fs::read_to_string(root.join(&file)).is_ok_and(|old| old == text) {
            continue;
        }
        if check {
            faults.push(Fault {
                file,
                line: 1,
                what: "it differs from its records: run cargo run -p xtask -- documents".to_owned(),
            });
        } else {
            fs::write(root.join(&file), text).with_context(|| format!("cannot write {file}"))?;
            console::say(&format!("wrote {file}"));
        }
    }
    Ok(faults)
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

/// The page of all answers.
fn machines(records: &Records) -> anyhow::Result<String> {
    let all = records.answers()?;
    let answers = all.iter().filter_map(|(path, file)| match file {
        File::Figures { records, answer, .. } => {
            Some(((path.as_path(), *records), answer.as_deref()))
        }
        _ => None,
    });
    let (files, answers): (Vec<_>, Vec<_>) = answers.unzip();
    let fleet = Fleet::of(&files, &answers).context("no file has an answer")?;
    let mut page = Vec::new();
    render::machines(&fleet, &mut page)?;
    Ok(String::from_utf8(page)?)
}
