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
    let plan = &mut header["plan"];
    let mut titles = Vec::new();
    for (place, section) in plan["sections"].as_array_mut().unwrap().iter_mut().enumerate() {
        let old = section["title"].as_str().unwrap().to_owned();
        section["title"] = title(place, &old).into();
        titles.push((old, section["title"].clone()));
    }
    for case in plan["cases"].as_array_mut().unwrap() {
        let (_, new) = titles.iter().find(|(old, _)| case["section"] == **old).unwrap();
        case["section"] = new.clone();
        for key in ["row", "baseline", "versus", "answer"] {
            if let Some(name) = case[key].as_str() {
                case[key] = row(name).into();
            }
        }
    }
    format!("{header}\n{processes}")
}
