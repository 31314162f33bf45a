//! Text that a terminal would obey or that would stand as a line of the runner's: in results, in programs and in flags.

use std::fs;

use serde_json::Value;

use super::renamed;
use crate::support::house::{House, executable};
use crate::support::process::Outcome;
use crate::support::switchcost;

/// A colour, a bell, a deletion, the C1 control that begins such sequences, a reversal of what follows, and markup.
const HOSTILE: &str = "\u{1b}[31m\u{7}\u{7f}\u{9b}2J\u{202e}<b>";

const BAD: &str = "one-thread-brigade";

/// Records whose names and errors end in this.
fn records(with: &str) -> String {
    let text = renamed(|_, title| format!("{title}{with}"), |row| format!("{row}{with}"));
    let change = |(place, line): (usize, &str)| {
        let mut value: Value = serde_json::from_str(line).unwrap();
        match place {
            0 => value["machine"]["cpu_model"] = format!("CPU{with}").into(),
            3 => value["error"] = format!("no luck{with}").into(),
            _ => {}
        }
        format!("{value}\n")
    };
    text.lines().enumerate().map(change).collect()
}

/// Expects that no character of it would be obeyed, and that the hostile text is there.
fn expect_plain(run: &Outcome) {
    let is_obeyed = |c: char| contract::console::is_command(c) && !matches!(c, '\n' | '\t');
    let all = format!("{}{}", run.stdout, run.stderr);
    assert!(!all.contains(is_obeyed), "{run}");
    assert!(all.contains("\\u009b") && all.contains("\\u202e"), "it is not there: {run}");
}

#[test]
fn results_are_shown_as_plain_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a.jsonl"), records(HOSTILE)).unwrap();
    let run = |flags: &str| switchcost(flags).folder(folder.path()).finish();
    for flags in [
        "report a.jsonl",
        "report --full a.jsonl",
        "report --format markdown a.jsonl",
        "report --format csv a.jsonl",
        "report --html - a.jsonl",
        "compare a.jsonl a.jsonl",
    ] {
        expect_plain(&run(flags));
    }
    let json = run("report --format json a.jsonl");
    expect_plain(&json);
    serde_json::from_str::<Value>(json.line()).unwrap();
    run("report a.jsonl --html page --svg plots").expect(0);
    for name in ["page", "plots/answer.svg"] {
        let text = fs::read_to_string(path(name)).unwrap();
        assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{name}");
        assert!(!text.contains("<b>"), "{name}");
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
