//! What is in the files of two commands: whether anything differs, and whether it stayed so.

use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::hash::Hasher;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use host::path;

/// The executable files of both commands, with a hash of their bytes.
#[derive(Debug, Default)]
pub struct Contents {
    programs: Vec<(PathBuf, Option<u64>)>,
    note: Option<&'static str>,
}

/// What no statistic of these files can tell.
const LAYOUT: &str = "The verdicts hold for these files: other builds of the same sources may be laid out differently.";

impl Contents {
    /// Of the words of all commands; if there are two, they are compared.
    pub fn of(commands: &[&[String]]) -> Self {
        let programs = commands.iter().filter_map(|words| path::find(words.first()?));
        let programs: Vec<_> = programs.map(|path| (path.clone(), hash_of(&path))).collect();
        let [a, b] = commands else {
            return Contents { programs, note: Some(LAYOUT) };
        };
        let has_equal_programs = matches!(&programs[..], [(_, a), (_, b)] if a.is_some() && a == b);
        let has_equal_words = a.len() == b.len()
            && a.iter().zip(*b).skip(1).all(|(a, b)| a == b || is_same_file(a, b));
        let note = match (has_equal_programs, has_equal_words) {
            (true, true) => "The programs are the same on both sides: only the machine can differ.",
            (true, false) => "The programs have equal bytes; their arguments differ.",
            _ => LAYOUT,
        };
        Contents { programs, note: Some(note) }
    }

    /// What to know of them.
    pub fn note(&self) -> Option<String> {
        self.note.map(str::to_owned)
    }

    /// A program whose file is another one by now.
    pub fn changed(&self) -> Option<&Path> {
        let mut changed = self.programs.iter().filter(|(path, hash)| hash_of(path) != *hash);
        changed.next().map(|(path, _)| path.as_path())
    }
}

fn is_same_file(a: &str, b: &str) -> bool {
    let [a, b] = [a, b].map(|word| hash_of(Path::new(word)));
    a.is_some() && a == b
}

/// Hash of a plain file's bytes.
fn hash_of(path: &Path) -> Option<u64> {
    // A FIFO would never end.
    path.metadata().ok().filter(|facts| facts.is_file())?;
    let mut hasher = DefaultHasher::new();
    let mut file = File::open(path).ok()?;
    let mut bytes = vec![0; 1 << 16];
    loop {
        match file.read(&mut bytes) {
            Ok(0) => return Some(hasher.finish()),
            Ok(count) => hasher.write(&bytes[..count]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn equal_bytes_and_later_changes_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
        for (name, text) in [("a", "1"), ("b", "1"), ("c", "2")] {
            fs::write(path(name), text).unwrap();
            fs::set_permissions(path(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let note = |first: &[&str], second: &[&str]| {
            let words = [first, second].map(|words| words.iter().map(|word| path(word)).collect());
            let [first, second]: [Vec<String>; 2] = words;
            Contents::of(&[&first, &second]).note().unwrap()
        };
        assert!(note(&["a"], &["b"]).contains("only the machine"));
        assert!(note(&["a", "a"], &["b", "b"]).contains("only the machine"));
        assert!(note(&["a", "a"], &["b", "c"]).contains("arguments differ"));
        assert!(note(&["a"], &["c"]).contains("these files"));
        let words = [path("a")];
        let contents = Contents::of(&[&words]);
        assert_eq!(contents.changed(), None);
        fs::write(path("a"), "3").unwrap();
        assert_eq!(contents.changed(), Some(Path::new(&words[0])));
    }
}
