//! Sources of a dependency, as a command line names them.

use std::fmt;
use std::path::PathBuf;

use crate::system::console::is_command;

/// Sources of a dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// An exact version of the registry.
    Version(String),
    /// A folder that holds the crate.
    Path(PathBuf),
    /// A revision of a repository.
    Git {
        /// Where it is.
        url: String,
        /// Commit, branch or tag.
        revision: String,
    },
}

impl Source {
    /// Reads what follows the `@`.
    pub(super) fn of(text: &str) -> Result<Self, String> {
        if let Some(folder) = text.strip_prefix("path:") {
            let path = std::path::absolute(folder).map_err(|e| format!("{folder}: {e}"))?;
            return match path.join("Cargo.toml").is_file() {
                true => Ok(Source::Path(path)),
                false => Err(format!("{folder} has no Cargo.toml: name the folder of the crate")),
            };
        }
        let is_plain = |text: &str| {
            !text.is_empty()
                && !text.starts_with('-')
                && !text
                    .contains(|c: char| c.is_whitespace() || is_command(c) || "'\"\\".contains(c))
        };
        match text.strip_prefix("git:").map(|rest| rest.split_once('#')) {
            None if is_word(text, ".+-") && text.starts_with(|c: char| c.is_ascii_digit()) => Ok(Source::Version(text.to_owned())),
            Some(Some((url, revision))) if is_plain(url) && is_plain(revision) => {
                if !url.contains("://") {
                    let path = std::path::absolute(url).unwrap_or_default();
                    let path = path.display();
                    return Err(format!("{url} is no URL: that of a folder is git:file://{path}#{revision}"));
                }
                Ok(Source::Git { url: url.to_owned(), revision: revision.to_owned() })
            }
            _ => Err("write CRATE@VERSION such as tokio@1.50.0, CRATE@path:FOLDER or CRATE@git:URL#REVISION, which may \
                      be a branch"
                .to_owned()),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Version(version) => f.write_str(version),
            Source::Path(path) => write!(f, "path:{}", path.display()),
            Source::Git { url, revision } => write!(f, "git:{url}#{revision}"),
        }
    }
}

/// True for ASCII letters, digits and the characters of `more`, the first one no other.
pub(super) fn is_word(text: &str, more: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
}
