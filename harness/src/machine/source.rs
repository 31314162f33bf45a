//! Small files of the kernel, read without trusting them, and what their text says.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// More than any file read here holds on a sane system.
const LARGEST_FILE: usize = 1 << 20;

/// Linux supports at most 8192 CPUs; a longer list is garbage and must not take the memory it
/// asks for.
const MOST_CPUS: u32 = 8192;

/// The directory below which `proc`, `sys` and `etc` are looked for.
pub(super) struct Source {
    root: PathBuf,
}

impl Source {
    pub(super) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }

    /// The file's text without surrounding white space; nothing if it is empty or unreadable.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        self.head(path, LARGEST_FILE)
    }

    /// The first `limit` bytes of a file at most, cut at the end of a line if there is more.
    pub(super) fn head(&self, path: &str, limit: usize) -> Option<String> {
        let file = File::open(self.root.join(path)).ok()?;
        let mut bytes = Vec::new();
        file.take(limit as u64).read_to_end(&mut bytes).ok()?;
        if bytes.len() == limit {
            let whole_lines = bytes.iter().rposition(|&byte| byte == b'\n')?;
            bytes.truncate(whole_lines);
        }
        let text = String::from_utf8_lossy(&bytes);
        // Device-tree strings end in a NUL.
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    pub(super) fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// A file that holds `0` or `1`.
    pub(super) fn flag(&self, path: &str) -> Option<bool> {
        match self.text(path)?.as_str() {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        }
    }

    /// The word in brackets among the choices that a file lists.
    pub(super) fn chosen(&self, path: &str, open: char, close: char) -> Option<String> {
        self.text(path)?
            .split_whitespace()
            .find_map(|word| word.strip_prefix(open)?.strip_suffix(close))
            .map(str::to_owned)
    }

    pub(super) fn exists(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// Names in a directory, in order; none if it is not there.
    pub(super) fn names(&self, directory: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.root.join(directory)) else {
            return Vec::new();
        };
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        names.sort_unstable();
        names
    }
}

/// The CPUs of a list such as `0-3,8`, in the order given. A list that is not one is nothing.
pub(super) fn cpu_list(text: &str) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for range in text.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        if first > last || last >= MOST_CPUS || cpus.len() > MOST_CPUS as usize {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// Bytes of a size such as `48K` or `1M`.
pub(super) fn size_in_bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(scale)
}

/// The first word after `key` on the line that begins with it.
pub(super) fn word_after<T: FromStr>(text: &str, key: &str) -> Option<T> {
    let rest = text.lines().find_map(|line| line.strip_prefix(key))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{cpu_list, size_in_bytes};

    #[test]
    fn lists_and_sizes() {
        assert_eq!(cpu_list("0-2,8"), Some(vec![0, 1, 2, 8]));
        for list in ["", "a", "3-1", "0-", "0-4294967295", "0,,1"] {
            assert_eq!(cpu_list(list), None, "{list}");
        }
        assert_eq!(size_in_bytes("491520K"), Some(480 << 20));
        assert_eq!(size_in_bytes("12"), Some(12));
        for size in ["K", "12KB", "-1K", "18446744073709551615G", "\u{E9}"] {
            assert_eq!(size_in_bytes(size), None, "{size}");
        }
    }
}
