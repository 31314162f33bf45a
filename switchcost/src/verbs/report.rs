//! `switchcost report`: what files of records say, as tables, as a page, as data.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use facts::Record;

use super::output::{self, Format, comparisons_json, figures_json, json};
use crate::figures::Figures;
use crate::measure::store;
use crate::render;
use crate::render::layout::width;
use crate::system::console::{self, BadUsage};
use crate::system::replace;
use crate::views::answer::Answer;
use crate::views::comparison::Comparison;
use crate::views::fleet::Fleet;
use crate::views::sessions;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Results; - is standard input. Several files of one machine make one answer, with each session as a
    /// sample; those of several machines are put side by side
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Print all tables, not the answer alone
    #[arg(long)]
    full: bool,

    /// Output format
    #[arg(long, value_enum, default_value = "text")]
    format: Format,

    /// Write a page with the answer, the tables and plots, or of several files a page of machines; it needs no other
    /// file and no network
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

    /// Make this folder, and write each plot into it as a file of its own: `answer.svg` and others
    #[arg(long, value_name = "FOLDER")]
    svg: Option<PathBuf>,

    /// Put the tables as Markdown into this file, between the lines
    /// `<!-- switchcost:begin -->` and `<!-- switchcost:end -->`, and the plot of the answer into
    /// `docs/answer.svg` beside it, or `answer.svg` if there is no such folder
    #[arg(long, value_name = "FILE")]
    splice: Option<PathBuf>,
}

const BEGIN: &str = "<!-- switchcost:begin -->\n";
const END: &str = "<!-- switchcost:end -->";

/// No file is longer that the tables are put into, in bytes.
const LONGEST_PAGE: u64 = 16 << 20;

/// Files to write, made before any of them is written.
type Outputs<'a> = Vec<(&'a Path, Vec<u8>)>;

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    args.ensure_distinct_outputs()?;
    let mut files = Vec::new();
    for file in &args.files {
        let contents = store::read(file)?;
        store::tell(file, &contents);
        files.push((file.as_path(), contents.records));
    }
    match &files[..] {
        [(file, records)] if records.iter().any(is_of_duel) => duels(args, file, records),
        [(file, records)] => report(args, file, records),
        several => {
            let all: Vec<&[Record]> = several.iter().map(|(_, records)| &records[..]).collect();
            let answers: Vec<Option<Answer>> =
                all.iter().map(|records| Answer::of(&Figures::of(records))).collect();
            let have_answers = answers.iter().all(Option::is_some);
            match sessions::joined(&all).filter(|_| have_answers) {
                Some(records) => report(args, several[0].0, &records),
                None => side_by_side(args, several, &answers),
            }
        }
    }
}

/// Prints or writes all of one file.
fn report(args: &Args, file: &Path, records: &[Record]) -> anyhow::Result<()> {
    let figures = Figures::of(records);
    ensure!(
        figures.iter().next().is_some(),
        "no record of a plan in {}: only `switchcost` itself writes those",
        file.display()
    );
    let answer = Answer::of(&figures);
    let picture = args.splice.as_deref().map(picture);
    let mut outputs = Outputs::new();
    outputs.extend(made(&args.html, |out| render::html(&figures, answer.as_ref(), out))?);
    outputs.extend(made(&args.markdown, |out| render::document(&figures).markdown(out))?);
    outputs.extend(made(&args.csv, |out| render::csv(&figures, out))?);
    outputs.extend(made(&args.json, |out| figures_json(&figures, answer.as_ref(), out))?);
    if let Some(path) = &args.splice {
        let shown = picture.as_ref().zip(answer.as_ref());
        let link = shown.map(|((_, link), _)| *link);
        if let Some(((picture, _), answer)) = shown {
            outputs.push((picture, render::plot::answer_file(answer).into()));
        }
        outputs.push((path, spliced(path, link, &figures, answer.as_ref())?));
    }
    if let Some(folder) = &args.svg {
        let plots = render::plot::files(&figures, answer.as_ref());
        ensure!(!plots.is_empty(), "nothing here can be plotted");
        replace::folder(folder)?;
        for (name, svg) in &plots {
            let file = folder.join(name);
            replace::file(&file, svg.as_bytes())?;
            console::say(format_args!("switchcost: wrote {}", file.display()));
        }
    }
    if outputs.is_empty() && args.svg.is_none() {
        return output::print_figures(&figures, answer, &args.files, args.format, args.full);
    }
    write(outputs)
}

/// Puts the answers of several files side by side.
fn side_by_side(
    args: &Args,
    files: &[(&Path, Vec<Record>)],
    answers: &[Option<Answer>],
) -> anyhow::Result<()> {
    args.allow(
        &["--html", "--export-markdown", "--export-json"],
        "it does not work with files of several machines: name files of one machine",
    )?;
    let Some(fleet) = Fleet::of(files, answers) else {
        bail!("none of these files holds an answer: name results of the default plan, or one file");
    };
    let document = render::fleet::document(&fleet);
    let mut outputs = Outputs::new();
    outputs.extend(made(&args.html, |out| render::machines(&fleet, out))?);
    outputs.extend(made(&args.markdown, |out| document.markdown(out))?);
    outputs.extend(made(&args.json, |out| json(&fleet, out))?);
    if !outputs.is_empty() {
        return write(outputs);
    }
    console::print(|out| match args.format {
        Format::Text => document.text(width(), out),
        Format::Markdown => document.markdown(out),
        Format::Json => json(&fleet, out),
    })
    .context("cannot print the tables")
}

fn is_of_duel(record: &Record) -> bool {
    record.side.is_some()
}

/// Prints or writes the verdicts of each duel of a file.
fn duels(args: &Args, file: &Path, records: &[Record]) -> anyhow::Result<()> {
    args.allow(
        &["--export-json"],
        "these are the records of a duel, which has verdicts and no tables: print them, or write them by \
         --export-json",
    )?;
    if let Some(other) = runs(records).find(|run| !run.iter().all(is_of_duel)) {
        let (path, id) = (file.display(), other[0].header.id);
        bail!(
            "{path} holds a duel and other results: part them, such as by \
             `jq -c 'select(.id == {id} or .run == {id})' {path}`"
        );
    }
    let duels: Vec<Comparison> = runs(records).map(Comparison::of_duel).collect();
    if let Some(output) = made(&args.json, |out| comparisons_json(&duels, out))? {
        return write(vec![output]);
    }
    output::print_comparisons(&duels, args.format)
}

/// Records of each run of a file.
fn runs(records: &[Record]) -> impl Iterator<Item = &[Record]> {
    records.chunk_by(|one, next| one.header.id == next.header.id)
}

/// Writes what was made, each to its place.
fn write(outputs: Outputs<'_>) -> anyhow::Result<()> {
    for (path, bytes) in outputs {
        if path == Path::new("-") {
            console::print(|out| out.write_all(&bytes)).context("cannot print")?;
        } else {
            replace::file(path, &bytes)?;
        }
    }
    Ok(())
}

impl Args {
    /// Files that are written, with their flags.
    fn outputs(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let outputs = [
            ("--html", &self.html),
            ("--export-markdown", &self.markdown),
            ("--export-csv", &self.csv),
            ("--export-json", &self.json),
            ("--svg", &self.svg),
            ("--splice", &self.splice),
        ];
        outputs.into_iter().filter_map(|(flag, path)| Some((flag, path.as_deref()?)))
    }

    /// Refuses all outputs but these: records of this kind have no other.
    fn allow(&self, flags: &[&str], why: &str) -> anyhow::Result<()> {
        let full = self.full.then_some("--full");
        let mut given = full.into_iter().chain(self.outputs().map(|(flag, _)| flag));
        match given.find(|flag| !flags.contains(flag)) {
            Some(flag) => Err(BadUsage::new(format!("{flag}: {why}"))),
            None => Ok(()),
        }
    }

    /// Refuses to write two outputs into one file, or one into the records themselves.
    fn ensure_distinct_outputs(&self) -> anyhow::Result<()> {
        let stdin = Path::new("-");
        if self.files.iter().filter(|path| *path == stdin).count() > 1 {
            return Err(BadUsage::new("standard input can be read once: name - once"));
        }
        let picture = self.splice.as_deref().map(|path| picture(path).0);
        let picture = picture.as_deref().map(|path| ("--splice", path));
        let files = self.outputs().chain(picture).filter(|(flag, _)| *flag != "--svg");
        let mut written: Vec<(&str, PathBuf)> = Vec::new();
        for (flag, path) in files {
            // Devices such as /dev/null may be written twice.
            let Some(place) = place(path) else { continue };
            if let Some((other, _)) = written.iter().find(|(_, known)| *known == place) {
                let path = path.display();
                return Err(BadUsage::new(format!(
                    "{flag}: {path} is the output of {other}: name another file"
                )));
            }
            if self.files.iter().any(|input| fs::canonicalize(input).is_ok_and(|p| p == place)) {
                let path = path.display();
                return Err(BadUsage::new(format!(
                    "{flag}: {path} holds the records and would be lost: name another file"
                )));
            }
            written.push((flag, place));
        }
        Ok(())
    }
}

/// Place where a file is or will be, however its path is written; `None` for a device.
fn place(path: &Path) -> Option<PathBuf> {
    if let Ok(real) = fs::canonicalize(path) {
        return real.is_file().then_some(real);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new("."))).ok()?;
    Some(folder.join(path.file_name()?))
}

/// An output that is asked for.
fn made(
    path: &Option<PathBuf>,
    write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>,
) -> io::Result<Option<(&Path, Vec<u8>)>> {
    let Some(path) = path else { return Ok(None) };
    let mut bytes = Vec::new();
    write(&mut bytes)?;
    Ok(Some((path, bytes)))
}

/// Path of the answer's picture for a spliced file, and the link to it.
fn picture(file: &Path) -> (PathBuf, &'static str) {
    let folder = file.parent().unwrap_or(Path::new(""));
    let link = if folder.join("docs").is_dir() { "docs/answer.svg" } else { "answer.svg" };
    (folder.join(link), link)
}

/// A file's text with what stands between the two marks replaced, the picture of the answer first.
fn spliced(
    file: &Path,
    picture: Option<&str>,
    figures: &Figures<'_>,
    answer: Option<&Answer>,
) -> anyhow::Result<Vec<u8>> {
    let text = replace::read(file, LONGEST_PAGE)
        .with_context(|| format!("cannot read {}", file.display()))?;
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
    match answer {
        Some(answer) => render::answer::markdown(answer, &mut spliced)?,
        None => render::document(figures).markdown(&mut spliced)?,
    }
    spliced.extend_from_slice(END.as_bytes());
    spliced.extend_from_slice(after.as_bytes());
    Ok(spliced)
}
