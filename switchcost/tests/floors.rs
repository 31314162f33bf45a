//! The stages of the runner, as CONTRIBUTING.md describes them: a folder uses those before it alone, and no verb uses
//! another one.

use std::fs;
use std::path::Path;

/// Folders from the ground up.
const STAGES: [&str; 7] = ["system", "plan", "measure", "views", "render", "check", "verbs"];

/// Files in `verbs` that are no verbs, for all of them.
const SHARED: [&str; 4] = ["args", "gate", "kept", "output"];

/// Each Rust source below a folder, tests apart, by its path.
fn sources(folder: &Path) -> Vec<(String, String)> {
    let mut sources = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources.extend(self::sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap().to_owned();
            sources.push((path.display().to_string(), text));
        }
    }
    sources
}

/// True if a source uses a module, whose path has one or two names: by `crate::`, or by `super::` from beside it.
fn uses(text: &str, path: &str) -> bool {
    let after = |place: usize| {
        text[place..].chars().next().is_none_or(|c| !c.is_alphanumeric() && c != '_')
    };
    text.match_indices(path).any(|(place, _)| after(place + path.len()))
}

#[test]
fn each_stage_uses_those_before_it() {
    let src = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    let mut count = 0;
    for (index, stage) in STAGES.iter().enumerate() {
        for (file, text) in sources(&src.join(stage)) {
            for later in &STAGES[index + 1..] {
                assert!(!uses(&text, &format!("crate::{later}")), "{file} uses {later}");
            }
            count += 1;
        }
    }
    assert!(count > 50, "{count}");
}

#[test]
fn no_verb_uses_another_one() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src/verbs"));
    let sources = sources(folder);
    let names = sources.iter().filter_map(|(file, _)| Path::new(file).file_stem()?.to_str());
    let verbs: Vec<&str> = names.filter(|name| *name != "mod" && !SHARED.contains(name)).collect();
    assert!(verbs.len() > 5, "{verbs:?}");
    for (file, text) in sources.iter().filter(|(file, _)| !file.ends_with("mod.rs")) {
        for verb in verbs.iter().filter(|verb| !file.ends_with(&format!("/{verb}.rs"))) {
            for path in [format!("super::{verb}"), format!("crate::verbs::{verb}")] {
                assert!(!uses(text, &path), "{file} uses {verb}");
            }
        }
    }
}
