//! `switchcost report`: what files of records say, as tables, as a page, as data.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::system::console::{self, BadUsage};
use anyhow::{Context, bail, ensure};
use clap::ValueEnum;
use record::Record;
use serde::Serialize;

use crate::figures::analysis::{self, Analysis};
use crate::measure::store;
use crate::render;
use crate::system::replace;
use crate::views::answer::Answer;
use crate::views::duel::Duel;
use crate::views::fleet::Fleet;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Results; - is standard input. Several are put side by side: first the ratios, then the figures;
    /// to put several runs of one machine together, use `cat FILE... | switchcost report -`
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Print all tables, not the answer alone
    #[arg(long)]
    full: bool,

    /// Write a page with the answer, the tables and plots; it needs no other file and no network
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Write the tables for a README
    #[arg(long = "export-markdown", value_name = "FILE")]
    markdown: Option<PathBuf>,

    /// Write one line for each case, unrounded: times in ns, sizes in bytes, rates per second
    #[arg(long = "export-csv", value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Write the estimates for programs, unrounded
    #[arg(long = "export-json", value_name = "FILE")]
    json: Option<PathBuf>,

    /// Write each plot as a file of its own into this folder
    #[arg(long, value_name = "FOLDER")]
    svg: Option<PathBuf>,

    /// Put the tables as Markdown into this file, between the lines
    /// `<!-- switchcost:begin -->` and `<!-- switchcost:end -->`, and the plot of the answer into
    /// `docs/answer.svg` beside it, or `answer.svg` where there is no such folder
    #[arg(long, value_name = "FILE")]
    splice: Option<PathBuf>,
}

/// How an analysis is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// for a terminal
    Text,
    /// for a README
    Markdown,
    /// for programs: the estimates, unrounded
    Json,
}

/// Everything that a file says, for programs.
#[derive(Serialize)]
struct All<'a> {
    #[serde(flatten)]
    analysis: &'a Analysis,
    answer: Option<&'a Answer>,
}

const BEGIN: &str = "<!-- switchcost:begin -->\n";
const END: &str = "<!-- switchcost:end -->";

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    args.check()?;
    match &args.files[..] {
        [file] => report(args, file),
        files => side_by_side(args, files),
    }
}

/// Puts the answers of several files side by side.
fn side_by_side(args: &Args, files: &[PathBuf]) -> anyhow::Result<()> {
    let records = files.iter().map(|file| Ok((file.as_path(), read(file)?)));
    let files: Vec<(&Path, Vec<Record>)> = records.collect::<anyhow::Result<_>>()?;
    let Some(fleet) = Fleet::of(&files) else {
        bail!("none of these files holds an answer: name results of the default plan, or one file");
    };
    let document = render::fleet::document(&fleet);
    let mut outputs = Vec::new();
    if let Some(path) = &args.html {
        outputs.push((path, made(|out| render::fleet_page(&fleet, out))?));
    }
    if let Some(path) = &args.markdown {
        outputs.push((path, made(|out| document.markdown(out))?));
    }
    if let Some(path) = &args.json {
        outputs.push((path, made(|out| json(&fleet, out))?));
    }
    if outputs.is_empty() {
        return console::print(|out| document.text(out)).context("cannot print the tables");
    }
    write(outputs)
}

/// Prints or writes all of one file.
fn report(args: &Args, file: &Path) -> anyhow::Result<()> {
    let records = read(file)?;
    if records.iter().any(|record| record.side.is_some()) {
        return duel(args, &records);
    }
    let analysis = analysis::analyse(&records);
    ensure!(
        !analysis.tables.is_empty() || !analysis.curves.is_empty(),
        "no record of a plan in {}: only `switchcost` itself writes those",
        file.display()
    );
    // Everything is made before anything is written.
    let mut outputs = Vec::new();
    let answer = Answer::of(&records);
    let picture = args.splice.as_deref().map(picture);
    if let Some(path) = &args.html {
        outputs.push((path, made(|out| render::html(&analysis, &records, out))?));
    }
    if let Some(path) = &args.markdown {
        outputs.push((path, made(|out| render::document(&analysis, &records).markdown(out))?));
    }
    if let Some(path) = &args.csv {
        outputs.push((path, made(|out| render::csv(&records, out))?));
    }
    if let Some(path) = &args.json {
        let all = All { analysis: &analysis, answer: answer.as_ref() };
        outputs.push((path, made(|out| json(&all, out))?));
    }
    if let Some(path) = &args.splice {
        let shown = picture.as_ref().zip(answer.as_ref());
        let link = shown.map(|((_, link), _)| *link);
        outputs.extend(shown.map(|((path, _), of)| (path, render::plot::answer_file(of).into())));
        outputs.push((path, spliced(path, link, &analysis, &records)?));
    }
    let plots = match &args.svg {
        Some(_) => render::plot::files(&analysis, answer.as_ref()),
        None => Vec::new(),
    };
    if let Some(folder) = &args.svg {
        ensure!(!plots.is_empty(), "nothing here can be plotted");
        replace::folder(folder)?;
        for (name, svg) in &plots {
            replace::file(&folder.join(name), svg.as_bytes())?;
        }
    }
    if outputs.is_empty() && args.svg.is_none() {
        return print(&analysis, &records, Format::Text, args.full);
    }
    write(outputs)
}

/// Prints or writes the verdicts of a duel.
fn duel(args: &Args, records: &[Record]) -> anyhow::Result<()> {
    let other = args.outputs().find(|(flag, _)| *flag != "--export-json").map(|(flag, _)| flag);
    if let Some(flag) = other.or(args.svg.as_ref().map(|_| "--svg")) {
        return Err(BadUsage::new(format!(
            "{flag}: these are the records of a duel, which has verdicts and no tables: print them, or write them by --export-json"
        )));
    }
    let duel = Duel::of(records);
    match &args.json {
        Some(path) => write(vec![(path, made(|out| json(&duel, out))?)]),
        None => console::print(|out| render::duel::text(&duel, render::limits::width(), out))
            .context("cannot print the verdicts"),
    }
}

/// Writes what was made, each to its place.
fn write(outputs: Vec<(&PathBuf, Vec<u8>)>) -> anyhow::Result<()> {
    for (path, bytes) in outputs {
        if is_stdout(path) {
            console::print(|out| {
                *out = bytes;
                Ok(())
            })
            .context("cannot print")?;
        } else {
            replace::file(path, &bytes)?;
        }
    }
    Ok(())
}

impl Args {
    fn outputs(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        [
            ("--html", &self.html),
            ("--export-markdown", &self.markdown),
            ("--export-csv", &self.csv),
            ("--export-json", &self.json),
            ("--splice", &self.splice),
        ]
        .into_iter()
        .filter_map(|(flag, path)| Some((flag, path.as_deref()?)))
    }

    fn check(&self) -> anyhow::Result<()> {
        if self.files.iter().filter(|path| is_stdout(path)).count() > 1 {
            return Err(BadUsage::new("standard input can be read once: name - once".to_owned()));
        }
        let of_one = [
            ("--full", self.full),
            ("--export-csv", self.csv.is_some()),
            ("--svg", self.svg.is_some()),
            ("--splice", self.splice.is_some()),
        ];
        if let Some((flag, _)) = of_one.iter().find(|(_, given)| *given && self.files.len() > 1) {
            return Err(BadUsage::new(format!(
                "{flag}: several files are put side by side, which it cannot: name one file, or put runs of one machine together by `cat FILE... | switchcost report -`"
            )));
        }
        let mut taken: Option<&str> = None;
        let mut written: Vec<(&str, PathBuf)> = Vec::new();
        let picture = self.splice.as_deref().map(|path| picture(path).0);
        let picture = picture.as_deref().map(|path| ("--splice", path));
        for (flag, path) in self.outputs().chain(picture) {
            if is_stdout(path) {
                if let Some(other) = taken {
                    return Err(BadUsage::new(format!(
                        "{flag}: standard output is taken by {other}: name a file"
                    )));
                }
                taken = Some(flag);
            } else if let Some(path) = place(path) {
                if let Some((other, _)) = written.iter().find(|(_, other)| *other == path) {
                    return Err(BadUsage::new(format!(
                        "{flag}: {} is the file of {other}: name another file",
                        path.display()
                    )));
                }
                written.push((flag, path));
            }
            let same = |input: &PathBuf| {
                let real = fs::canonicalize(path).ok();
                real.is_some() && real == fs::canonicalize(input).ok()
            };
            if self.files.iter().any(same) {
                return Err(BadUsage::new(format!(
                    "{flag}: {} holds the records and would be lost: name another file",
                    path.display()
                )));
            }
        }
        Ok(())
    }
}

/// Where a file is or will be, however its path is written; `None` where that is no plain file, to
/// which more may be written.
fn place(path: &Path) -> Option<PathBuf> {
    if let Ok(real) = fs::canonicalize(path) {
        return real.is_file().then_some(real);
    }
    let folder = match path.parent()? {
        folder if folder.as_os_str().is_empty() => Path::new("."),
        folder => folder,
    };
    Some(fs::canonicalize(folder).ok()?.join(path.file_name()?))
}

fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// The records of a file; lines that are none are told.
fn read(file: &Path) -> anyhow::Result<Vec<Record>> {
    let contents = store::read(file)?;
    store::tell(file, &contents);
    Ok(contents.records)
}

fn made(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    write(&mut bytes)?;
    Ok(bytes)
}

fn json(found: &impl Serialize, out: &mut Vec<u8>) -> io::Result<()> {
    serde_json::to_writer(&mut *out, found)?;
    out.push(b'\n');
    Ok(())
}

/// Prints an analysis; for a terminal the answer alone, where there is one and not all is asked for.
pub(crate) fn print(
    analysis: &Analysis,
    records: &[Record],
    format: Format,
    full: bool,
) -> anyhow::Result<()> {
    let answer = Answer::of(records);
    console::print(|out| match format {
        Format::Text => match answer.as_ref().filter(|_| !full) {
            Some(answer) => render::answer_text(answer, out),
            None => render::document(analysis, records).text(out),
        },
        Format::Markdown => render::document(analysis, records).markdown(out),
        Format::Json => json(&All { analysis, answer: answer.as_ref() }, out),
    })
    .context("cannot print the tables")
}

/// Path of the answer's picture for a spliced file, and the link to it.
fn picture(file: &Path) -> (PathBuf, &'static str) {
    let folder = file.parent().unwrap_or(Path::new(""));
    let link = match folder.join("docs").is_dir() {
        true => "docs/answer.svg",
        false => "answer.svg",
    };
    (folder.join(link), link)
}

/// A file's text with what stands between the two marks replaced, the picture of the answer first.
fn spliced(
    file: &Path,
    picture: Option<&str>,
    analysis: &Analysis,
    records: &[Record],
) -> anyhow::Result<Vec<u8>> {
    let text =
        fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    // The end is looked for behind the beginning: prose may mention both.
    let parts = text.split_once(BEGIN);
    let Some((before, (_, after))) =
        parts.and_then(|(before, rest)| Some((before, rest.split_once(END)?)))
    else {
        bail!("{} has no lines {} and {END}", file.display(), BEGIN.trim_end());
    };
    let mut spliced = before.as_bytes().to_vec();
    spliced.extend_from_slice(BEGIN.as_bytes());
    if let Some(link) = picture {
        writeln!(spliced, "![Cost of an OS thread, as a multiple of an async task's]({link})\n")?;
    }
    match Answer::of(records) {
        Some(answer) => render::answer_markdown(&answer, &mut spliced)?,
        None => render::document(analysis, records).markdown(&mut spliced)?,
    }
    spliced.extend_from_slice(END.as_bytes());
    spliced.extend_from_slice(after.as_bytes());
    Ok(spliced)
}
