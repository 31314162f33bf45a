//! Small files of the kernel, below a root folder.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use procfs::FromRead;

/// More than any file read here holds.
const LARGEST_FILE: u64 = 1 << 20;

/// Folder below which `/proc`, `/sys` and `/etc` are looked for: `/`, or a test's.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    root: PathBuf,
}

impl Source {
    pub(crate) fn new(root: &Path) -> Self {
        Source { root: root.to_owned() }
    }

    /// The running system.
    pub(crate) fn system() -> Self {
        Source::new(Path::new("/"))
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path.trim_start_matches('/'))
    }

    /// A file's text, or why it cannot be read.
    pub(crate) fn read(&self, path: &str) -> Result<String, String> {
        let mut bytes = Vec::new();
        File::open(self.path(path))
            .and_then(|file| file.take(LARGEST_FILE).read_to_end(&mut bytes))
            .map_err(|e| format!("cannot read {path}: {e}"))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// A file's text without surrounding white space; `None` if it is empty or unreadable.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let text = self.read(path).ok()?;
        // Strings of a device tree end in a NUL.
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// The number that is all a file holds, or why there is none.
    pub(crate) fn number<T: FromStr>(&self, path: &str) -> Result<T, String> {
        let text = self.read(path)?;
        let number = text.trim().parse();
        number.map_err(|_| format!("{path} holds no number"))
    }

    /// A file as `procfs` reads it, or why it cannot.
    pub(crate) fn parse<T: FromRead>(&self, path: &str) -> Result<T, String> {
        let file = File::open(self.path(path)).map_err(|e| format!("cannot read {path}: {e}"))?;
        T::from_read(file.take(LARGEST_FILE)).map_err(|e| format!("cannot read {path}: {e}"))
    }

    /// A file that holds `0` or `1`.
    pub(crate) fn flag(&self, path: &str) -> Option<bool> {
        match self.text(path)?.as_str() {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        }
    }

    /// The word in brackets among the choices that a file lists.
    pub(crate) fn chosen(&self, path: &str, open: char, close: char) -> Option<String> {
        self.text(path)?
            .split_whitespace()
            .find_map(|word| word.strip_prefix(open)?.strip_suffix(close))
            .map(str::to_owned)
    }

    pub(crate) fn exists(&self, path: &str) -> bool {
        self.path(path).exists()
    }

    /// Names in a folder, in order; none if it is not there.
    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }
}

/// The first word after `key` on the line that begins with it.
pub(crate) fn word_after<T: FromStr>(text: &str, key: &str) -> Option<T> {
    let rest = text.lines().find_map(|line| line.strip_prefix(key))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// A value of the line of `/proc/pressure/*` that counts when some task waits.
pub(crate) fn pressure<T: FromStr>(source: &Source, resource: &str, key: &str) -> Option<T> {
    let text = source.text(&format!("/proc/pressure/{resource}"))?;
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let value = some.split(' ').find_map(|word| word.strip_prefix(key))?;
    value.parse().ok()
}

/// Soft and hard value of a line of `/proc/self/limits`; unlimited is [`u64::MAX`], as in the kernel.
/// (procfs panics at a line that is cut.)
pub(crate) fn rlimit(limits: &str, name: &str) -> Option<(u64, u64)> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    let mut values = line.split_whitespace().map(|value| match value {
        "unlimited" => Some(u64::MAX),
        number => number.parse().ok(),
    });
    Some((values.next()??, values.next()??))
}

#[cfg(test)]
pub(crate) mod fixtures {
    //! Systems made of files.

    use std::fs;
    use std::path::Path;

    use tempfile::TempDir;

    use super::Source;

    /// A root folder that is removed when dropped.
    pub(crate) struct Root(TempDir);

    impl Root {
        /// Makes files of lines such as `/path: text`; lines with one path make one file.
        pub(crate) fn new(lines: &str) -> Self {
            let root = Root(tempfile::tempdir().unwrap());
            root.add(lines);
            root
        }

        /// Makes further files, or longer ones.
        pub(crate) fn add(&self, lines: &str) {
            for line in lines.lines() {
                let (path, text) = line.split_once(": ").unwrap();
                let old = self.source().read(path).unwrap_or_default();
                self.write(path, format!("{old}{text}\n"));
            }
        }

        pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
            let path = self.source().path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        pub(crate) fn path(&self) -> &Path {
            self.0.path()
        }

        pub(crate) fn source(&self) -> Source {
            Source::new(self.path())
        }
    }
}
