//! The runner against other users, hostile files and hostile environments.

mod build;
mod cli;
mod programs;
mod report;
mod runs;
mod text;

use std::fs;

use serde_json::Value;

use crate::support::FIXTURE;

/// The fixture's records under other names: of each section by its place, and of each row.
fn renamed(title: impl Fn(usize, &str) -> String, row: impl Fn(&str) -> String) -> String {
    let text = fs::read_to_string(FIXTURE).unwrap();
    let (header, processes) = text.split_once('\n').unwrap();
    let mut header: Value = serde_json::from_str(header).unwrap();
    let mut titles: Vec<String> = Vec::new();
    for line in header["rows"].as_array_mut().unwrap() {
        let old = line["section"].as_str().unwrap().to_owned();
        let place = titles.iter().position(|title| *title == old).unwrap_or_else(|| {
            titles.push(old.clone());
            titles.len() - 1
        });
        line["section"] = title(place, &old).into();
        for key in ["/row", "/ties/baseline", "/ties/versus", "/ties/answer"] {
            if let Some(name) = line.pointer_mut(key) {
                *name = row(name.as_str().unwrap()).into();
            }
        }
    }
    format!("{header}\n{processes}")
}
