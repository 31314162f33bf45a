//! Documents of the repository, and what is wrong with them.

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::Context;

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

/// All documents, in the order of their paths.
pub(crate) fn pages(root: &Path) -> anyhow::Result<Vec<Page>> {
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
