//! Data goes one way through the runner: a stage uses none of the stages behind it. Cargo checks the same of crates.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders of src in the order in which data goes through them.
const STAGES: [&str; 7] = ["system", "plan", "measure", "views", "render", "check", "verbs"];

#[test]
fn no_stage_uses_one_behind_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let folders = fs::read_dir(&src).unwrap().map(|entry| entry.unwrap().path());
    for folder in folders.filter(|path| path.is_dir()) {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let stage = STAGES.iter().position(|stage| *stage == name);
        let later = &STAGES[stage.unwrap_or_else(|| panic!("{name} is no stage")) + 1..];
        for file in files(&folder) {
            let text = fs::read_to_string(&file).unwrap();
            for path in text.split("crate::").skip(1) {
                // Several may stand in one statement: `use crate::{a, b};`.
                let group = path.strip_prefix('{').and_then(|rest| rest.split(';').next());
                let words = group.unwrap_or(path).split(|c: char| !c.is_alphanumeric() && c != '_');
                let mut used = words.take(if group.is_some() { usize::MAX } else { 1 });
                let found = used.find(|word| later.contains(word));
                assert_eq!(found, None, "{} uses a later stage", file.display());
            }
        }
    }
}

/// Files of a folder and of those in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
