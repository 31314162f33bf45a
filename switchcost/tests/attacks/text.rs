//! Text that a terminal would obey or that would stand as a line of the runner's: in results, in programs and in flags.

use std::fs;

use serde_json::Value;

use crate::support::house::{House, executable};
use crate::support::process::Outcome;
use crate::support::{FIXTURE, switchcost};

/// A colour, a bell, a deletion, the C1 control that begins such sequences, a reversal of what follows, and markup.
const HOSTILE: &str = "\u{1b}[31m\u{7}\u{7f}\u{9b}2J\u{202e}<b>";

/// Titles that are a formula with markup, a comment, and no ASCII.
const TITLES: [&str; 4] =
    ["=HYPERLINK(\"http://x\") <img src=x onerror=alert(1)>", "<!--/table-->", "время", "память|`"];

const BAD: &str = "one-thread-brigade";

/// The fixture's records under hostile names.
fn records() -> String {
    let text = fs::read_to_string(FIXTURE).unwrap();
    let (header, trials) = text.split_once('\n').unwrap();
    let mut header: Value = serde_json::from_str(header).unwrap();
    header["machine"]["cpu_model"] = format!("CPU{HOSTILE}").into();
    let mut titles: Vec<Value> = Vec::new();
    for line in header["rows"].as_array_mut().unwrap() {
        if !titles.contains(&line["section"]) {
            titles.push(line["section"].clone());
        }
        let place = titles.iter().position(|title| *title == line["section"]).unwrap();
        let title = TITLES[place % TITLES.len()];
        let ending = if title.is_ascii() { HOSTILE } else { "" };
        line["section"] = format!("{title}{ending}").into();
        for key in ["/row", "/ties/baseline", "/ties/versus", "/ties/answer"] {
            if let Some(name) = line.pointer_mut(key) {
                *name = format!("=1+1 <b> {}{HOSTILE}", name.as_str().unwrap()).into();
            }
        }
    }
    let mut trials: Vec<Value> =
        trials.lines().map(|trial| serde_json::from_str(trial).unwrap()).collect();
    trials[2]["error"] = format!("no luck{HOSTILE}").into();
    let lines: Vec<String> = trials.iter().map(Value::to_string).collect();
    format!("{header}\n{}\n", lines.join("\n"))
}

/// Expects that no character of it would be obeyed, and that the hostile text is there.
fn expect_plain(run: &Outcome) {
    let is_obeyed = |c: char| host::console::is_command(c) && !matches!(c, '\n' | '\t');
    let all = format!("{}{}", run.stdout, run.stderr);
    assert!(!all.contains(is_obeyed), "{run}");
    assert!(all.contains("\\u009b") && all.contains("\\u202e"), "it is not there: {run}");
}

#[test]
fn results_are_shown_as_plain_text_without_markup_and_formulas() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.jsonl", "b.jsonl"] {
        fs::write(folder.path().join(name), records()).unwrap();
    }
    let run = |flags: &str| {
        let run = switchcost(flags).folder(folder.path()).finish();
        expect_plain(&run);
        run.stdout
    };
    run("report a.jsonl");
    run("report --full a.jsonl");
    run("report --html - a.jsonl");
    run("compare a.jsonl a.jsonl");
    serde_json::from_str::<Value>(&run("report --format json a.jsonl")).unwrap();
    let markdown = run("report --format markdown --full a.jsonl");
    assert!(!markdown.contains('<'), "{markdown}");
    for text in ["&lt;img src=x", "**время**", "\\|\\`"] {
        assert!(markdown.contains(text), "{text}: {markdown}");
    }
    // Of a fleet, too.
    let (csv, fleet) =
        (run("report --format csv a.jsonl"), run("report --format csv a.jsonl b.jsonl"));
    assert!(csv.lines().count() > 4 && fleet.contains("'=1+1"), "{fleet}");
    for line in csv.lines().skip(1).chain(fleet.lines().skip(1)) {
        let is_formula = line.starts_with(['=', '+', '-', '@']) || line.contains(",=");
        assert!(!is_formula && !line.contains("\"="), "{line}");
    }
}

/// By the title of its section, whatever that is.
#[test]
fn every_plot_is_a_file_of_plain_text_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let plots = folder.path().join("plots");
    let long = "../no character of XML \u{ffff}".repeat(20);
    let run = switchcost("report - --html page --svg plots").folder(folder.path());
    run.input(&records().replace(TITLES[1], &long)).finish().expect(0);
    let mut files: Vec<_> =
        fs::read_dir(&plots).unwrap().map(|file| file.unwrap().path()).collect();
    assert!(plots.join("answer.svg").is_file() && plots.join("plot.svg").is_file());
    assert!(files.len() > 2 && fs::read_dir(folder.path()).unwrap().count() == 2, "{files:?}");
    files.push(folder.path().join("page"));
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\u{ffff}']), "{file:?}");
        assert!(!text.contains("<b>"), "{file:?}");
    }
}

#[test]
fn what_programs_say_is_shown_as_plain_text() {
    let house = House::new(1, &[BAD, "async-brigade"]);
    house.fake(BAD, &format!("printf '%s\\n' 'no luck {HOSTILE}' >&2; exit 1"));
    for verb in ["stat", "check", "stat --format json"] {
        let run = house.switchcost(&format!("{verb} {BAD}"));
        expect_plain(&run.arg(format!("--x{HOSTILE}")).finish().expect(1));
    }
    house.run("--full").finish().expect(1);
    expect_plain(&switchcost("report").arg(house.out()).finish().expect(0));
    for flags in ["duel", "run --plan", "stat --set", "estimate --switches"] {
        let run = house.switchcost(flags).arg(HOSTILE).finish();
        assert!(run.code > 0, "{run}");
        expect_plain(&run);
    }
}

/// A long word, and a line that would be a sentence of the runner's.
fn forged(length: usize) -> String {
    format!("{}\nforged: {}", "x".repeat(length), "a b ".repeat(length / 20))
}

/// Expects that it is cut, and that none of its lines stands where one of the runner's would.
fn expect_brief(run: &Outcome, most: usize) {
    for text in [&run.stdout, &run.stderr] {
        assert!(text.len() < most, "{} bytes", text.len());
        assert!(!text.contains(&"x".repeat(501)), "{run}");
        assert!(!text.lines().any(|line| line.trim_start().starts_with("forged")), "{run}");
    }
    assert!(format!("{}{}", run.stdout, run.stderr).contains('…'), "it is not there: {run}");
}

#[test]
fn what_others_say_is_cut_and_on_one_line() {
    let house = House::new(1, &[BAD]);
    let named = format!("brigade{}", forged(800).replace('\n', "\\u000a"));
    executable(&house.path(BAD), &House::fake_text(&named, ":"));
    expect_brief(&house.switchcost(&format!("limits {BAD}")).finish().expect(0), 9000);
    house.fake(BAD, ":");
    let run = house.switchcost(&format!("stat --iters 4 {BAD}")).arg(forged(90_000)).finish();
    expect_brief(&run.expect(0), 3000);
    for flags in ["--seed", "report", "", "stat --iters", "duel"] {
        let run = switchcost(flags).arg(forged(90_000)).finish();
        assert!(run.code > 0, "{run}");
        expect_brief(&run, 2000);
    }
}
