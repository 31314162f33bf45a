//! Every figure, quotient, verdict, grade and doubt that the runner makes of the committed records, held against
//! golden.txt. A change of structure leaves that file as it is. A commit that changes a figure changes it too, and says
//! why; `GOLDEN=write cargo test -p switchcost --test all golden` writes it anew, and `git diff` shows what differs.
//!
//! The figures are those of `report FILE --format json`, with ten significant digits. Left out are sentences, and figures of
//! single processes and pairs, from which the others are made.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{iter, slice, thread};

use figures::Figures;
use figures::verdict::MARGIN;
use serde_json::{Map, Value};
use switchcost::measure::store::{self, Contents};
use switchcost::render::{FiguresReport, Format, Report};
use switchcost::views::answer::Answer;
use switchcost::views::comparison::Comparison;

use crate::support::{RESULTS, golden, results};

/// What stands in the JSON and is no figure: sentences, what single processes measured, and the place of a figure.
const LEFT_OUT: &str = "about baseline beside chains column confidence doubts is_alone kind machine matters means metric \
    missing name notes outcome over pairs quantity row schedulers section seed sides text twins unit versus x";

/// Files that are compared, of machines of one kind.
const COMPARED: [[&str; 2]; 2] = [
    ["epyc-2vcpu-6.18/answer.jsonl", "epyc5-2vcpu-6.18/answer.jsonl"],
    ["xeon6-2vcpu-6.18/answer.jsonl", "xeon6b-2vcpu-6.18/answer.jsonl"],
];

#[test]
fn every_figure_of_the_committed_records_is_as_it_was() {
    golden("golden.txt", &figures_of_all_files());
}

/// All figures of all committed records: a line each, below its place.
fn figures_of_all_files() -> String {
    let (files, next) = (results(), AtomicUsize::new(0));
    let name = |path: &PathBuf| {
        let path = path.strip_prefix(RESULTS).unwrap().with_extension("");
        path.display().to_string()
    };
    let work = || {
        let taken = iter::from_fn(|| files.get(next.fetch_add(1, Ordering::Relaxed)));
        taken.map(name).map(|name| format!("{name}\n{}", of_file(&name))).collect::<Vec<String>>()
    };
    let mut parts = thread::scope(|scope| {
        let threads = [scope.spawn(work), scope.spawn(work)];
        threads.map(|thread| thread.join().unwrap()).concat()
    });
    parts.sort_unstable();
    parts.extend(COMPARED.map(|[old, new]| format!("{old}, {new}\n{}", of_two(old, new))));
    parts.concat()
}

/// A file without a fault; its name lacks the `.gz`.
fn read(name: &str) -> Contents {
    let contents = store::read(&Path::new(RESULTS).join(format!("{name}.gz"))).unwrap();
    assert!(contents.faults.is_empty(), "{name}: {:?}", contents.faults);
    contents
}

/// Figures of a file.
fn of_file(name: &str) -> String {
    let contents = read(name);
    if contents.records.iter().any(|record| record.header.sides.is_some()) {
        let runs = contents.records.chunk_by(|one, next| one.header.id == next.header.id);
        let duels: Vec<Comparison> = runs.map(Comparison::of_duel).collect();
        return text(&duels[..]);
    }
    let figures = Figures::of(&contents.records);
    let answer = Answer::of(&figures);
    text(&FiguresReport { figures: &figures, answer: answer.as_ref(), full: true, more: None })
}

/// What has changed from one file to the other.
fn of_two(old: &str, new: &str) -> String {
    let (older, newer) = (read(old).records, read(new).records);
    let figures = [Figures::of(&older), Figures::of(&newer)];
    let comparison = Comparison::of_files([old, new], figures.each_ref(), MARGIN);
    text(&comparison)
}

/// The figures of a report.
fn text(report: &(impl Report + ?Sized)) -> String {
    let mut out = Vec::new();
    Format::Json.write(report, &mut out).unwrap();
    let (mut text, json): (String, Value) = (String::new(), serde_json::from_slice(&out).unwrap());
    for part in json.as_array().map_or(slice::from_ref(&json), Vec::as_slice) {
        write_part(part, &mut text);
    }
    text
}

/// The figures of one file, or of one duel in it.
fn write_part(part: &Value, out: &mut String) {
    let part = part.as_object().unwrap();
    let title = part.get("sides").map_or("all".to_owned(), |sides| sides.to_string());
    writeln!(out, "\t{title}").unwrap();
    write_figure("records", part, out);
    let mut section = Value::Null;
    let lists = ["figures", "rows", "curves"].into_iter().filter_map(|list| part.get(list));
    for figure in lists.flat_map(|list| list.as_array().unwrap()) {
        if figure["section"] != section {
            section = figure["section"].clone();
            writeln!(out, "\t{}", word(&section)).unwrap();
        }
        let place = ["row", "name", "column", "x"].into_iter().filter_map(|key| figure.get(key));
        let place: Vec<String> = place.map(word).filter(|word| !word.is_empty()).collect();
        write_figure(&place.join(" / "), figure.as_object().unwrap(), out);
    }
    if let Some(answer) = part.get("answer").and_then(Value::as_object) {
        writeln!(out, "\tthe answer").unwrap();
        write_figure("all", answer, out);
        for row in answer["rows"].as_array().unwrap() {
            write_figure(&word(&row["name"]), row.as_object().unwrap(), out);
        }
    }
}

/// A figure: its place, then a line for each of its numbers, and for each doubt.
fn write_figure(place: &str, figure: &Map<String, Value>, out: &mut String) {
    writeln!(out, "\t\t{place}").unwrap();
    for (name, value) in figure {
        if !["figures", "rows", "curves", "answer"].contains(&name.as_str()) {
            write_value(name, value, out);
        }
    }
    for doubt in figure.get("doubts").and_then(Value::as_array).into_iter().flatten() {
        let about: Vec<String> = doubt["about"].as_array().unwrap().iter().map(word).collect();
        let (kind, size) = (word(&doubt["kind"]), word(&doubt["size"]));
        writeln!(out, "\t\t\tdoubt {kind} {size} {}", about.join("; ")).unwrap();
    }
}

/// Writes the value of a name: an estimate in one line, anything else leaf by leaf.
fn write_value(name: &str, value: &Value, out: &mut String) {
    let last = name.rsplit('.').next().unwrap();
    // Most figures have no failed process and no overtaking.
    let is_none = last == "failed" && *value == 0;
    let is_empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    if is_empty || is_none || LEFT_OUT.split(' ').any(|name| name == last) {
        return;
    }
    let mut write_at = |key: &str, value| write_value(&format!("{name}.{key}"), value, out);
    match value {
        Value::Object(object) => match estimate(object) {
            Some(text) => writeln!(out, "\t\t\t{name} {text}").unwrap(),
            None => object.iter().for_each(|(key, value)| write_at(key, value)),
        },
        Value::Array(items) if items.iter().any(|item| item.is_object() || item[1].is_object()) => {
            for (i, item) in items.iter().enumerate() {
                match item.as_array().map(Vec::as_slice) {
                    // A value of a swept flag, and the figure there.
                    Some([x, figure]) => write_at(&word(x), figure),
                    _ => write_at(&item.get("kind").map_or(i.to_string(), word), item),
                }
            }
        }
        leaf => writeln!(out, "\t\t\t{name} {}", word(leaf)).unwrap(),
    }
}

/// An estimate, its interval, its number of samples and its grade; `None` if it is something else.
fn estimate(object: &Map<String, Value>) -> Option<String> {
    let interval = object.get("interval").and_then(Value::as_object).unwrap_or(object);
    let value = object.get("value").or_else(|| object.get("estimate"))?;
    let mut text = word(value);
    if let (Some(low), Some(high)) = (interval.get("low"), interval.get("high")) {
        write!(text, " [{}, {}]", word(low), word(high)).unwrap();
    }
    let further =
        ["n", "modes", "grade"].into_iter().filter_map(|key| Some((key, object.get(key)?)));
    for (key, value) in further.filter(|(_, value)| !value.is_null()) {
        write!(text, " {key}={}", word(value)).unwrap();
    }
    Some(text)
}

/// A leaf, numbers with ten significant digits.
fn word(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => {
            let rounded: f64 = format!("{:.9e}", number.as_f64().unwrap()).parse().unwrap();
            rounded.to_string()
        }
        Value::Array(items) => items.iter().map(word).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}
