//! Sources of a dependency, as a command line names them.

use std::path::PathBuf;
use std::str::FromStr;

/// Sources of a dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// An exact version of the registry.
    Version(String),
    /// A folder that holds the crate.
    Path(PathBuf),
    /// A revision of a repository.
    Git {
        url: String,
        /// Commit, branch or tag.
        revision: String,
    },
}

impl FromStr for Source {
    type Err = String;

    /// Reads what follows the `@`.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(folder) = text.strip_prefix("path:") {
            let path = std::path::absolute(folder).map_err(|e| format!("{folder}: {e}"))?;
            return if path.join("Cargo.toml").is_file() {
                Ok(Source::Path(path))
            } else {
                Err(format!("{folder} has no Cargo.toml: name the folder of the crate"))
            };
        }
        let is_plain = |text: &str| {
            let is_odd = |c: char| c.is_whitespace() || "'\"\\".contains(c);
            !text.is_empty() && !text.starts_with('-') && !text.contains(is_odd)
        };
        match text.strip_prefix("git:").map(|rest| rest.split_once('#').unwrap_or_default()) {
            None if is_word(text, ".+-") && text.starts_with(|c: char| c.is_ascii_digit()) => {
                Ok(Source::Version(text.to_owned()))
            }
            Some((url, revision))
                if url.contains("://") && is_plain(url) && is_plain(revision) =>
            {
                Ok(Source::Git { url: url.to_owned(), revision: revision.to_owned() })
            }
            _ => Err("write CRATE@VERSION such as tokio@1.50.0, CRATE@path:FOLDER or CRATE@git:URL#REV, where REV may be \
                      a branch; the URL of a folder is file:///FOLDER"
                .to_owned()),
        }
    }
}

/// True for ASCII letters, digits and the characters of `more`, the first one no other.
pub(super) fn is_word(text: &str, more: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
}

/// Commit of sources, and whether they were changed since.
pub(in crate::plan) fn revision(commit: Option<&str>, dirty: Option<bool>) -> String {
    let since = if dirty == Some(true) { ", changed since" } else { "" };
    commit.map_or("sources of an unknown revision".to_owned(), |commit| {
        format!("commit {}{since}", commit.get(..12).unwrap_or(commit))
    })
}
