//! The house of the runner, as CONTRIBUTING.md describes it: a folder is a stage, knows those before it alone,
//! and no verb calls a verb.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Folders from the ground up.
const FLOORS: [&str; 8] =
    ["system", "plan", "measure", "figures", "views", "render", "check", "verbs"];

/// Files in `verbs` that are no verbs, for all of them.
const SHARED: [&str; 4] = ["args", "gate", "kept", "output"];

/// Words behind `path` in a source, its tests apart: `plan` of `use crate::plan::Case`.
fn words_behind<'a>(source: &'a str, path: &str) -> BTreeSet<&'a str> {
    let own = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let words = own.split(path).skip(1);
    words
        .map(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap())
        .collect()
}

/// Rust sources below a folder, by their paths in it.
fn sources(folder: &Path, files: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_test = path.file_stem().is_some_and(|name| name == "tests" || name == "testing");
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") && !is_test {
            let name = path.strip_prefix(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).unwrap();
            files.push((name.display().to_string(), fs::read_to_string(&path).unwrap()));
        }
    }
}

#[test]
fn each_floor_knows_those_below() {
    let mut files = Vec::new();
    sources(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")), &mut files);
    let mut faults = Vec::new();
    for (name, source) in &files {
        let Some((folder, file)) = name.split_once('/') else { continue };
        let floor = FLOORS.iter().position(|floor| *floor == folder);
        let floor = floor.unwrap_or_else(|| panic!("{name}: a folder that is no floor"));
        for other in words_behind(source, "crate::") {
            match FLOORS.iter().position(|known| *known == other) {
                Some(other) if other <= floor => {}
                _ => faults.push(format!("{name} knows {other}")),
            }
        }
        if folder == "verbs" && file != "mod.rs" {
            let others = words_behind(source, "super::").into_iter();
            let others = others.chain(words_behind(source, "crate::verbs::"));
            let calls = others.filter(|other| !SHARED.contains(other) && !other.is_empty());
            faults.extend(calls.map(|other| format!("{name} calls {other}")));
        }
    }
    assert!(files.len() > 50 && faults.is_empty(), "{}", faults.join("\n"));
}
