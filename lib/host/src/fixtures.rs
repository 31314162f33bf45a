//! Systems made of files.

#![expect(clippy::unwrap_used, reason = "only tests use it")]

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::source::Source;

/// A root folder that is removed when dropped.
pub struct Root(TempDir);

impl Root {
    /// Makes files of lines such as `/path: text`; lines with one path make one file.
    pub fn new(lines: &str) -> Self {
        let root = Root(tempfile::tempdir().unwrap());
        root.add(lines);
        root
    }

    /// Makes further files, or longer ones.
    pub fn add(&self, lines: &str) {
        for line in lines.lines() {
            let (path, text) = line.split_once(": ").unwrap();
            let old = self.source().read(path).unwrap_or_default();
            self.write(path, format!("{old}{text}\n"));
        }
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.source().path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn source(&self) -> Source {
        Source::new(self.path())
    }
}
