//! Text that a terminal would obey, that is too long, or that looks like a sentence of the runner's: in results, in
//! programs and in flags.

use std::fs;

use serde_json::Value;

use super::{RECORDS, switchcost};
use crate::support::house::{House, executable};
use crate::support::process::Outcome;

/// A colour, a bell, a deletion, the C1 control that begins such sequences, and a reversal of what follows.
const HOSTILE: &str = "\u{1b}[31m\u{7}\u{7f}\u{9b}2J\u{202e}";

const BAD: &str = "one-thread-brigade";

/// Fields whose values are one of a few words, or lists of CPUs.
const CHOSEN: [&str; 9] = [
    "kind",
    "claim",
    "metric",
    "cpu_quota",
    "affinity",
    "cpus_online",
    "shared_cpu_list",
    "policy",
    "side",
];

/// Puts hostile text behind each text of a record.
fn poison(value: &mut Value, with: &str) {
    match value {
        Value::String(text) => text.push_str(with),
        Value::Array(values) => values.iter_mut().for_each(|value| poison(value, with)),
        Value::Object(fields) => {
            let free = fields.iter_mut().filter(|(name, _)| !CHOSEN.contains(&name.as_str()));
            free.for_each(|(_, value)| poison(value, with));
        }
        _ => {}
    }
}

/// Records with hostile text in the place of each that is free.
fn records(sides: bool, with: &str) -> String {
    let text = fs::read_to_string(RECORDS).unwrap();
    let mut lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (place, line) in lines.iter_mut().enumerate() {
        if sides && place == 0 {
            line["sides"] = ["a", "b"].into_iter().collect();
            line["margin"] = 0.02.into();
        } else if sides {
            line["side"] = if place % 2 == 0 { "A" } else { "B" }.into();
        }
        if place == 3 {
            line["error"] = "no luck".into();
        }
        poison(line, with);
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Expects that no character of it would be obeyed, and that the hostile text is there.
fn expect_plain(run: &Outcome) {
    let is_obeyed = |c: char| contract::console::is_command(c) && !matches!(c, '\n' | '\t');
    for text in [&run.stdout, &run.stderr] {
        assert!(!text.contains(is_obeyed), "{:?}: {run}", text.chars().find(|c| is_obeyed(*c)));
    }
    let all = format!("{}{}", run.stdout, run.stderr);
    assert!(all.contains("\\u009b") && all.contains("\\u202e"), "it is not there: {run}");
}

#[test]
fn results_are_shown_as_plain_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a.jsonl"), records(false, HOSTILE)).unwrap();
    fs::write(path("b.jsonl"), records(false, HOSTILE).replace("no luck", "bad luck")).unwrap();
    fs::write(path("duel.jsonl"), records(true, HOSTILE)).unwrap();
    fs::write(path("none.jsonl"), "{\"schema\":2,\"kind\":\"\u{9b}\u{202e}\"}\n").unwrap();
    for flags in [
        "report --full a.jsonl",
        "report --format markdown a.jsonl b.jsonl",
        "report --format json a.jsonl",
        "report duel.jsonl",
        "report none.jsonl",
        "report a.jsonl --html -",
        "report a.jsonl --export-csv -",
        "compare a.jsonl b.jsonl",
        "compare --format json a.jsonl b.jsonl",
        "estimate --tasks 9 a.jsonl",
    ] {
        let run = switchcost(flags).folder(folder.path()).finish();
        assert!(run.code < 2, "{run}");
        expect_plain(&run);
        if flags.contains("json a") {
            let value: Value = serde_json::from_str(run.line()).unwrap();
            assert!(value.to_string().contains('\u{202e}'), "the text is the same: {run}");
        }
    }
    for output in ["--html", "--export-markdown", "--export-csv", "--export-json"] {
        let run = switchcost(&format!("report a.jsonl {output} out")).folder(folder.path());
        run.finish().expect(0);
        let text = fs::read_to_string(path("out")).unwrap();
        assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{output}");
    }
}

#[test]
fn what_programs_say_and_what_is_typed_is_shown_as_plain_text() {
    let house = House::new(1, &[BAD, "async-brigade"]);
    let named = format!("brigade{}", HOSTILE.replace('\u{1b}', "\\u001b").replace('\u{7}', ""));
    executable(&house.path(BAD), &House::fake_text(&named, ":"));
    expect_plain(&house.switchcost(&format!("limits {BAD}")).finish().expect(0));
    house.fake(BAD, &format!("printf '%s\\n' 'no luck {HOSTILE}' >&2; exit 1"));
    for verb in ["stat", "stat --format json", "check"] {
        let run = house.switchcost(&format!("{verb} {BAD}")).arg(format!("--x{HOSTILE}"));
        expect_plain(&run.finish().expect(1));
    }
    expect_plain(&house.run("--full").finish().expect(1));
    let refusing = House::fake_text(BAD, ":");
    let refusing = refusing
        .replace("echo \"{$description}\"; exit", &format!("echo 'no {HOSTILE}' >&2; exit 2"));
    executable(&house.path(BAD), &refusing);
    for flags in ["limits", "sweep --tasks 1..9 --program"] {
        let run = house.switchcost(&format!("{flags} {BAD}")).finish();
        assert!(run.code > 0, "{run}");
        expect_plain(&run);
    }
    let flags = format!("flags = [\"{}\"]", "\\u001b\\u009b\\u202e");
    house.set_plan(&house.plan().replace("flags = [\"--tasks\", \"1\"]", &flags));
    expect_plain(&house.run("--list").finish().expect(0));
    for flags in ["report", "duel", "run --plan", "scale --to", "estimate --switches"] {
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
fn a_long_text_is_cut_and_on_one_line() {
    let house = House::new(1, &[BAD]);
    let named = format!("brigade{}", forged(800).replace('\n', "\\u000a"));
    executable(&house.path(BAD), &House::fake_text(&named, ":"));
    expect_brief(&house.switchcost(&format!("limits {BAD}")).finish().expect(0), 9000);
    let long = forged(90_000);
    house.fake(BAD, ":");
    let run = house.switchcost(&format!("stat --iters 4 {BAD}")).arg(&long).finish();
    expect_brief(&run.expect(0), 3000);
    for (name, sides) in [("a.jsonl", false), ("b.jsonl", false), ("duel.jsonl", true)] {
        fs::write(house.path(name), records(sides, &forged(600))).unwrap();
    }
    for flags in ["report --full a.jsonl", "report duel.jsonl", "compare a.jsonl b.jsonl"] {
        let run = switchcost(flags).folder(house.folder()).finish();
        assert!(run.code < 2, "{run}");
        expect_brief(&run, 200_000);
    }
    let plan = format!("rounds = 1\n[[section]]\ntitle = 't'\nmetric = {long:?}\n");
    fs::write(house.path("long.toml"), plan).unwrap();
    for (flags, value) in [
        ("", &long),
        ("--seed", &long),
        ("run --plan", &long),
        ("run --plan", &"long.toml".to_owned()),
        ("report", &long),
        ("duel", &long),
        ("estimate --switches", &long),
    ] {
        let run = switchcost(flags).arg(value).folder(house.folder()).finish();
        assert!(run.code > 0, "{run}");
        expect_brief(&run, 2000);
    }
}

#[test]
fn of_many_distributions_some_are_shown() {
    let house = House::new(1, &[BAD]);
    let one = |n: u32| {
        format!(
            r#"\"x{n}\":{{\"count\":1,\"mean\":1,\"stddev\":0,\"min\":1,\"p50\":1,\"p90\":1,\"p99\":1,\"max\":1}}"#
        )
    };
    let extra = (0..900).map(one).collect::<Vec<_>>().join(",");
    let samples = r#"\"samples_ns\":"#;
    let many = House::fake_text(BAD, ":");
    let many = many.replace(samples, &format!(r#"\"extra\":{{{extra}}},{samples}"#));
    executable(&house.path(BAD), &many);
    let run = house.switchcost(&format!("stat --iters 4 {BAD}")).finish().expect(0);
    assert!(run.stdout.contains("880 more distributions"), "{run}");
    assert!(run.stdout.lines().count() < 50, "{run}");
}
