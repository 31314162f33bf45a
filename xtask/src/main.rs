//! What only people of this repository run: `cargo run -p xtask -- documents` fills and checks its documents.

mod check;
mod claims;
mod definitions;
mod fill;
mod law;
mod others;
mod plots;
mod query;
mod records;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use host::console;

use definitions::Definitions;
use records::Records;

/// What only people of this repository run
#[derive(Parser)]
enum Cli {
    /// Put figures, tables and plots into the documents, and check the documents
    ///
    /// A figure stands before its name, as in `17 µs<!--= thread.unpinned -->`; docs/figures.toml defines the name as a
    /// query on a file in results/, docs/claims.toml has what others claim. Then the documents are rendered as GitHub
    /// renders them, their links are followed, and the runner's commands are checked against its flags.
    Documents(Documents),
}

#[derive(clap::Args)]
struct Documents {
    /// Change nothing: what is out of date is named, as everything else that is wrong, and the exit status is 1
    #[arg(long)]
    check: bool,
    /// Folder of the repository
    #[arg(long, default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/.."), hide_default_value = true)]
    root: PathBuf,
}

/// A fault of a document, or of a definition.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fault {
    /// Path from the root.
    pub(crate) file: String,
    /// Line, from 1.
    pub(crate) line: usize,
    /// What is wrong, and what to do.
    pub(crate) what: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

/// A document of the repository, or another file that is made of records.
pub(crate) struct Page {
    /// Path from the root, such as `docs/FINDINGS.md`.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Page {
    /// Name of its table in docs/figures.toml.
    pub(crate) fn name(&self) -> &str {
        Path::new(&self.path).file_stem().and_then(|stem| stem.to_str()).unwrap_or_default()
    }

    /// The line of a place in its text, from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.text[..at].matches('\n').count() + 1
    }

    pub(crate) fn fault(&self, line: usize, what: impl Into<String>) -> Fault {
        Fault { file: self.path.clone(), line, what: what.into() }
    }
}

/// Folders that have documents.
const FOLDERS: [&str; 3] = ["", "docs", "docs/findings"];

fn pages(root: &Path) -> anyhow::Result<Vec<Page>> {
    let mut pages = Vec::new();
    for folder in FOLDERS {
        let entries = root.join(folder).read_dir();
        for entry in entries.with_context(|| format!("cannot read {folder}"))? {
            let file = entry?.path();
            if file.extension().is_some_and(|ending| ending == "md") {
                let path = file.strip_prefix(root)?.display().to_string();
                let text = fs::read_to_string(&file);
                let text = text.with_context(|| format!("cannot read {path}"))?;
                pages.push(Page { path, text });
            }
        }
    }
    pages.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    Ok(pages)
}

/// Fills and checks the documents, and returns their faults.
fn documents(args: &Documents) -> anyhow::Result<Vec<Fault>> {
    let root = args.root.canonicalize().context("--root: there is no such folder")?;
    let mut faults = Vec::new();
    let definitions = Definitions::read(&root, &mut faults)?;
    let records = Records::new(&root);
    // One of these files is a document itself.
    for file in plots::draw(&definitions, &records, &mut faults)? {
        faults.extend(put(&root, &file, args.check)?);
    }
    let mut pages = pages(&root)?;
    for page in &mut pages {
        page.text = fill::fill(page, &definitions, &records, &mut faults);
        faults.extend(put(&root, page, args.check)?);
        faults.extend(check::rendered(page));
        faults.extend(check::plans(page));
    }
    faults.extend(definitions.unused());
    faults.extend(check::links(&root, &pages));
    faults.extend(check::commands(&root, &pages));
    faults.sort_unstable();
    faults.dedup();
    Ok(faults)
}

/// Writes a file if it is another one; with `check` returns the first line that differs from what its records say.
fn put(root: &Path, page: &Page, check: bool) -> anyhow::Result<Option<Fault>> {
    let path = root.join(&page.path);
    let old = fs::read_to_string(&path).unwrap_or_default();
    if old == page.text {
        return Ok(None);
    }
    if check {
        let is_same = |(old, new): &(&str, &str)| old == new;
        let same = old.lines().zip(page.text.lines()).take_while(is_same).count();
        let new: String =
            page.text.lines().nth(same).unwrap_or_default().chars().take(200).collect();
        return Ok(Some(page.fault(
            same + 1,
            format!("its records say: {new} (cargo run -p xtask -- documents writes it)"),
        )));
    }
    fs::write(path, &page.text).with_context(|| format!("cannot write {}", page.path))?;
    console::say(&format!("wrote {}", page.path));
    Ok(None)
}

fn main() -> ExitCode {
    let Cli::Documents(args) = Cli::parse();
    match documents(&args) {
        Ok(faults) if faults.is_empty() => ExitCode::SUCCESS,
        Ok(faults) => {
            for fault in &faults {
                console::say(&fault.to_string());
            }
            ExitCode::FAILURE
        }
        Err(error) => {
            console::say(&format!("xtask: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
