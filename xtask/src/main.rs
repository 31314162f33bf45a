//! What only people of this repository run: `cargo run -p xtask -- documents` fills and checks its documents.

mod check;
mod claims;
mod definitions;
mod fill;
mod found;
mod law;
mod lookup;
mod markdown;
mod others;
mod page;
mod plots;
mod query;
mod records;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use host::console;

use definitions::Definitions;
use page::{Fault, Page};
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
    let mut pages = page::pages(&root)?;
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
