//! `switchcost share`: prepares an answer without private fields for a pull request. Nothing is sent.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use contract::units::counted;

use super::args::newest_first;
use crate::figures::Figures;
use crate::measure::store;
use crate::render;
use crate::system::console::{self, BadUsage};
use crate::system::replace;
use crate::views::answer::Answer;
use crate::views::published::{self, Published};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the machine on the page: CPU, number of CPUs and kernel, such as xeon-2vcpu-6.18
    #[arg(value_parser = name, required_unless_present = "check")]
    name: Option<String>,

    /// Results to share [default: the newest switchcost-*.jsonl in this folder that holds an answer]
    file: Option<PathBuf>,

    /// Check published files instead: each must hold one run and an answer, without doubts and private fields
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["name", "file"])]
    check: Vec<PathBuf>,

    /// Accept an answer with doubts; the page will show them
    #[arg(long)]
    allow_doubts: bool,
}

/// No answer is longer, in bytes.
const LONGEST: u64 = 64 << 20;

/// Name of a machine, and of the folder of its results.
fn name(text: &str) -> Result<String, String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric());
    if begins && text.len() <= 64 && text.chars().all(is_part) {
        Ok(text.to_owned())
    } else {
        Err("a name has up to 64 letters, digits, dots and dashes, such as xeon-2vcpu-6.18"
            .to_owned())
    }
}

pub(crate) fn main(args: &Args) -> anyhow::Result<()> {
    match &args.name {
        Some(name) => share(name, args),
        None => check(args),
    }
}

/// Writes the records of an answer to the place where they are published.
fn share(name: &str, args: &Args) -> anyhow::Result<()> {
    let file = match &args.file {
        Some(file) => file.clone(),
        None => newest()?,
    };
    let from = file.display();
    let target = Path::new("results").join(name).join("answer.jsonl");
    if target.exists() {
        let taken = target.display();
        return Err(BadUsage::new(format!("{taken} exists: choose another name, or remove it")));
    }
    let text = read(&file)?;
    let contents = store::parse(text.as_bytes()).with_context(|| format!("cannot read {from}"))?;
    let mut obstacles = published::obstacles(&contents, args.allow_doubts);
    if !obstacles.is_empty() {
        if !args.allow_doubts && published::obstacles(&contents, true).is_empty() {
            obstacles
                .push("measure again, or share it with its doubts by --allow-doubts".to_owned());
        }
        obstacles.iter().for_each(|obstacle| console::say(format_args!("{from}: {obstacle}")));
        return Err(BadUsage::new(format!("{from} cannot be shared")));
    }
    let records = Published::of(text.as_bytes())?;
    if let Some((field, text)) = records.private.iter().next() {
        return Err(BadUsage::new(format!(
            "{from} cannot be shared: {field} holds '{text}', which looks private"
        )));
    }
    published::ensure_same_answer(&contents, &records)?;
    replace::folder(&Path::new("results").join(name))?;
    replace::file(&target, records.text.as_bytes())?;
    console::print(|out| {
        writeln!(out, "{}, made from {from}:", target.display())?;
        render::published::text(&records, out)?;
        write!(
            out,
            "\nNothing was sent. To publish it, copy results/{name} into a clone of your fork of the project, and run there:\n\
             \n  git switch -c {name}\
             \n  cargo run -p xtask -- documents\
             \n  git add results/{name} docs/machines.*\
             \n  git commit -m 'results: {name}'\
             \n  git push -u origin {name}\n\
             \nThen open a pull request from that branch.\n"
        )
    })
    .context("cannot print what would be sent")
}

/// Checks published files, and names all that is wrong with them.
fn check(args: &Args) -> anyhow::Result<()> {
    let mut faulty = 0;
    for file in &args.check {
        let text = read(file)?;
        let contents = store::parse(text.as_bytes())
            .with_context(|| format!("cannot read {}", file.display()))?;
        let mut obstacles = published::obstacles(&contents, args.allow_doubts);
        // A line that is not a record was named already.
        if contents.faults.is_empty() {
            let records = Published::of(text.as_bytes())?;
            obstacles.extend(records.left_out.iter().map(|field| format!("{field} is private")));
            let private = records.private.iter();
            obstacles.extend(private.map(|(field, text)| format!("{field} holds '{text}'")));
        }
        for obstacle in &obstacles {
            console::say(format_args!("{}: {obstacle}", file.display()));
        }
        faulty += usize::from(!obstacles.is_empty());
    }
    if faulty > 0 {
        bail!("{faulty} of {} cannot be published", counted(args.check.len(), "file"));
    }
    Ok(())
}

fn read(file: &Path) -> anyhow::Result<String> {
    replace::read(file, LONGEST).with_context(|| format!("cannot read {}", file.display()))
}

/// The newest results in this folder that hold an answer.
fn newest() -> anyhow::Result<PathBuf> {
    let has_answer = |path: &PathBuf| {
        store::read(path)
            .is_ok_and(|contents| Answer::of(&Figures::of(&contents.records)).is_some())
    };
    newest_first(Path::new(".")).into_iter().find(has_answer).ok_or_else(|| {
        BadUsage::new("no switchcost-*.jsonl in this folder holds an answer: run `switchcost`, or name a file")
    })
}
