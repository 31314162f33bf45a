//! `switchcost report`: prints results files as tables, as a page or as data.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context, ensure};
use figures::{Figures, sessions};
use record::Record;

use super::output::{self, Format};
use crate::measure::store;
use crate::render::{self, FiguresReport, Report};
use crate::system::console::{self, BadUsage};
use crate::system::replace;
use crate::views::answer::Answer;
use crate::views::comparison::Comparison;
use crate::views::fleet::{self, MachineResults};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Results; - is standard input. Several files from one machine make one answer, with each session as a sample;
    /// files from several machines are shown side by side
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Print all tables, not only the answer
    #[arg(long)]
    full: bool,

    /// Output format
    #[arg(long, value_enum, default_value = "text", conflicts_with_all = ["html", "svg"])]
    format: Format,

    /// Write a self-contained page with the answer, the tables and plots; for several machines, a page that compares
    /// them
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Create this folder, and write each plot into it as an SVG file: answer.svg and others
    #[arg(long, value_name = "FOLDER")]
    svg: Option<PathBuf>,
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    let page = args.html.as_deref().and_then(real_file);
    let mut inputs = args.files.iter().filter_map(|path| real_file(path));
    if page.is_some_and(|page| inputs.any(|file| file == page)) {
        return Err(BadUsage::new("--html: this file holds the records: name another one"));
    }
    let mut files = Vec::new();
    for file in &args.files {
        let contents = store::read(file)?;
        store::tell(file, &contents);
        files.push((file.as_path(), contents.records));
    }
    match &files[..] {
        [(file, records)] if records.iter().any(is_of_duel) => duels(args, file, records),
        [(_, records)] => report(args, records),
        _ => match by_machine(files) {
            machines if machines.len() == 1 => report(args, &machines[0].records),
            several => side_by_side(args, several),
        },
    }
}

/// A regular file without links.
fn real_file(path: &Path) -> Option<PathBuf> {
    fs::canonicalize(path).ok().filter(|path| path.is_file())
}

/// Files of one machine together. One without an answer is left out if another of its machine has one.
fn by_machine(files: Vec<(&Path, Vec<Record>)>) -> Vec<MachineResults<'static>> {
    let files = files.into_iter().map(|(path, records)| {
        let answer = Answer::of(&Figures::of(&records));
        MachineResults::new(path, records.into(), answer)
    });
    let (with, without): (Vec<_>, Vec<_>) = files.partition(|file| file.answer.is_some());
    let mut machines: Vec<MachineResults<'_>> = Vec::new();
    for file in with.into_iter().chain(without) {
        let same = machines.iter_mut().find_map(|known| {
            let records = sessions::joined(&[&known.records, &file.records])?;
            Some((known, records))
        });
        match same {
            None => machines.push(file),
            Some((known, _)) if known.answer.is_some() && file.answer.is_none() => {
                console::say(format_args!(
                    "switchcost: {} was left out: it holds no answer, and {}, of the same machine, does",
                    file.file, known.file
                ));
            }
            Some((known, records)) => {
                known.answer = Answer::of(&Figures::of(&records));
                known.records = records.into();
            }
        }
    }
    machines
}

/// Prints or writes all of one machine's records.
fn report(args: &Args, records: &[Record]) -> anyhow::Result<()> {
    let figures = Figures::of(records);
    let answer = Answer::of(&figures);
    let more = output::in_full(&args.files);
    let report =
        FiguresReport { figures: &figures, answer: answer.as_ref(), full: args.full, more };
    let Some(folder) = &args.svg else {
        return args.print(&report);
    };
    // The page is made before any plot is written.
    let page =
        args.html.as_ref().map(|path| Ok::<_, io::Error>((path, page(&report)?))).transpose()?;
    let plots = render::plot::files(&figures, answer.as_ref());
    ensure!(!plots.is_empty(), "nothing here can be plotted");
    replace::folder(folder)?;
    for (name, svg) in plots {
        let file = folder.join(name);
        replace::file(&file, svg.as_bytes())?;
        console::say(format_args!("switchcost: wrote {}", file.display()));
    }
    page.map_or(Ok(()), |(path, page)| replace::file(path, &page))
}

fn page(report: &(impl Report + ?Sized)) -> io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Format::Html.write(report, &mut page)?;
    Ok(page)
}

impl Args {
    /// Prints a report, or writes it as a page.
    fn print(&self, report: &(impl Report + ?Sized)) -> anyhow::Result<()> {
        match &self.html {
            Some(path) => replace::file(path, &page(report)?),
            None => output::print(report, self.format),
        }
    }
}

/// Puts the answers of several machines side by side.
fn side_by_side(args: &Args, machines: Vec<MachineResults<'_>>) -> anyhow::Result<()> {
    let machines = fleet::side_by_side(machines).context(
        "none of these files holds an answer: name results of the default plan, or one file only",
    )?;
    if args.full || args.svg.is_some() {
        return Err(BadUsage::new(
            "--full and --svg need files from one machine, and these are from several: name files from one machine",
        ));
    }
    args.print(&machines[..])
}

fn is_of_duel(record: &Record) -> bool {
    record.header.sides.is_some()
}

/// Prints the verdicts of each duel of a file.
fn duels(args: &Args, file: &Path, records: &[Record]) -> anyhow::Result<()> {
    if args.svg.is_some() {
        return Err(BadUsage::new("--svg: a duel has verdicts but no plots: drop the flag"));
    }
    ensure!(
        records.iter().all(is_of_duel),
        "{} holds a duel and other results: split it by the `run` of its records",
        file.display()
    );
    let runs = records.chunk_by(|record, next| record.header.id == next.header.id);
    let duels: Vec<Comparison> = runs.map(Comparison::of_duel).collect();
    match &duels[..] {
        [duel] => args.print(duel),
        duels => args.print(duels),
    }
}
