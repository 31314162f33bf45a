//! Small files of the kernel, below a root folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Folder below which `/proc`, `/sys` and `/etc` are looked for: `/`, or a test's.
#[derive(Clone, Debug)]
pub struct Source {
    root: PathBuf,
}

impl Source {
    /// Files below this folder.
    pub fn new(root: &Path) -> Self {
        Source { root: root.to_owned() }
    }

    /// The running system.
    pub fn system() -> Self {
        Source::new(Path::new("/"))
    }

    /// Path of a file.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// A file's text, or why it cannot be read.
    pub fn read(&self, path: &str) -> Result<String, String> {
        let bytes = fs::read(self.path(path)).map_err(|e| format!("cannot read {path}: {e}"))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A file's text without surrounding white space; `None` if it is empty or unreadable.
    pub fn text(&self, path: &str) -> Option<String> {
        let text = self.read(path).ok()?;
        // Strings of a device tree end in a NUL.
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The number that is all a file holds, or why there is none.
    pub fn number<T: FromStr>(&self, path: &str) -> Result<T, String> {
        let text = self.read(path)?;
        let number = text.trim().parse();
        number.map_err(|_| format!("{path} holds no number"))
    }

    /// A file that holds `0` or `1`.
    pub fn flag(&self, path: &str) -> Option<bool> {
        match self.text(path)?.as_str() {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        }
    }

    /// The word in brackets among the choices that a file lists.
    pub fn chosen(&self, path: &str, open: char, close: char) -> Option<String> {
        self.text(path)?
            .split_whitespace()
            .find_map(|word| word.strip_prefix(open)?.strip_suffix(close))
            .map(str::to_owned)
    }

    /// True if there is such a file or folder.
    pub fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Names in a folder, in order; none if it is not there.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }
}

/// The first word after `key` on the line that begins with it.
pub fn word_after<T: FromStr>(text: &str, key: &str) -> Option<T> {
    let rest = text.lines().find_map(|line| line.strip_prefix(key))?;
    rest.split_whitespace().next()?.parse().ok()
}
