//! Data goes one way through the runner: a stage uses none of the stages behind it. Cargo checks the same of crates.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders of src in the order in which data goes through them.
const STAGES: [&str; 7] = ["system", "plan", "measure", "views", "render", "check", "verbs"];

#[test]
fn no_stage_uses_one_behind_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (index, stage) in STAGES.iter().enumerate() {
        for file in files(&src.join(stage)) {
            let text = fs::read_to_string(&file).unwrap();
            for later in &STAGES[index + 1..] {
                let is_used = text.contains(&format!("crate::{later}::"));
                assert!(!is_used, "{} uses {later}, a later stage", file.display());
            }
        }
    }
}

/// Files of a folder and of those in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
