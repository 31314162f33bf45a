//! Text that a terminal would obey, in results, in programs and in flags: through every verb and format.

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
    let shown = |flags: &str| {
        let run = switchcost(flags).folder(folder.path()).finish();
        assert!(run.code < 2, "{run}");
        expect_plain(&run);
        if flags.contains("json ") || flags.ends_with("json -") {
            let value: Value = serde_json::from_str(run.line()).unwrap();
            assert!(value.to_string().contains('\u{202e}'), "the text is the same: {run}");
        }
    };
    for format in ["text", "markdown", "json"] {
        shown(&format!("report --full --format {format} a.jsonl"));
        shown(&format!("report --format {format} a.jsonl b.jsonl"));
        shown(&format!("report --format {format} duel.jsonl"));
    }
    for output in ["--html", "--export-markdown", "--export-csv", "--export-json"] {
        shown(&format!("report a.jsonl {output} -"));
        switchcost(&format!("report a.jsonl {output} out"))
            .folder(folder.path())
            .finish()
            .expect(0);
        let text = fs::read_to_string(path("out")).unwrap();
        assert!(!text.contains(['\u{1b}', '\u{9b}', '\u{202e}']), "{output}");
    }
    for format in ["text", "json"] {
        shown(&format!("compare --format {format} a.jsonl b.jsonl"));
    }
    shown("estimate --tasks 9 a.jsonl");
    let run = switchcost("report").arg(path(HOSTILE)).finish().expect(1);
    expect_plain(&run);
    fs::write(path("none.jsonl"), "{\"schema\":2,\"kind\":\"\u{9b}\u{202e}\"}\n").unwrap();
    shown("report none.jsonl");
}

#[test]
fn what_programs_say_is_shown_as_plain_text() {
    let house = House::new(1, &[BAD, "async-brigade"]);
    let named = House::fake_text(
        &format!("brigade{}", HOSTILE.replace('\u{1b}', "\\u001b").replace('\u{7}', "")),
        ":",
    );
    executable(&house.path(BAD), &named);
    for format in ["text", "json"] {
        let limits =
            house.switchcost(&format!("limits --format {format} {BAD}")).finish().expect(0);
        expect_plain(&limits);
    }
    house.fake(BAD, &format!("printf '%s\\n' 'no luck {HOSTILE}' >&2; exit 1"));
    for format in ["text", "json"] {
        for verb in ["stat", "check"] {
            let run = house.switchcost(&format!("{verb} --format {format} {BAD}"));
            expect_plain(&run.arg(format!("--x{HOSTILE}")).finish().expect(1));
        }
    }
    for format in ["text", "markdown", "json"] {
        house.run(&format!("--full --format {format}")).finish().expect(1);
        let run = switchcost("report --format").arg(format).arg(house.out()).finish();
        expect_plain(&run.expect(0));
    }
    let refusing = House::fake_text(BAD, ":");
    let refusing = refusing
        .replace("echo \"{$description}\"; exit", &format!("echo 'no {HOSTILE}' >&2; exit 2"));
    executable(&house.path(BAD), &refusing);
    for verb in ["limits", "sweep --tasks 1..9 --program"] {
        let run = house.switchcost(&format!("{verb} {BAD}")).finish();
        assert!(run.code > 0, "{run}");
        expect_plain(&run);
    }
    house.set_plan(&house.plan().replace(
        "flags = [\"--tasks\", \"1\"]",
        &format!("flags = [\"{}\"]", "\\u001b\\u009b\\u202e"),
    ));
    expect_plain(&house.run("--list").finish().expect(0));
    for flags in [
        "duel",
        "run --plan",
        "machine --cpus",
        "scale --to",
        "memory --rounds",
        "estimate --switches",
    ] {
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
fn what_programs_say_is_cut_and_on_one_line() {
    let house = House::new(1, &[BAD]);
    let named = format!("brigade{}", forged(800).replace('\n', "\\u000a"));
    executable(&house.path(BAD), &House::fake_text(&named, ":"));
    expect_brief(&house.switchcost(&format!("limits {BAD}")).finish().expect(0), 9000);
    house.fake(BAD, ":");
    let run = house.switchcost(&format!("stat --iters 4 {BAD}")).arg(forged(90_000)).finish();
    expect_brief(&run.expect(0), 3000);
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

#[test]
fn what_files_hold_is_cut_and_on_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (name, sides) in [("a.jsonl", false), ("b.jsonl", false), ("duel.jsonl", true)] {
        fs::write(path(name), records(sides, &forged(600))).unwrap();
    }
    for flags in [
        "report --full a.jsonl",
        "report --format markdown a.jsonl",
        "report duel.jsonl",
        "compare a.jsonl b.jsonl",
    ] {
        let run = switchcost(flags).folder(folder.path()).finish();
        assert!(run.code < 2, "{run}");
        expect_brief(&run, 200_000);
    }
}

#[test]
fn what_is_typed_is_cut_and_on_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let plan = format!("rounds = 1\n[[section]]\ntitle = 't'\nmetric = {:?}\n", forged(90_000));
    fs::write(folder.path().join("plan.toml"), plan).unwrap();
    for (flags, value) in [
        ("--seed", &forged(90_000)),
        ("run --plan", &forged(90_000)),
        ("report", &forged(90_000)),
        ("", &forged(90_000)),
        ("stat --iters", &forged(90_000)),
        ("duel", &forged(90_000)),
        ("stat x --iters", &forged(90_000)),
        ("estimate --switches", &forged(90_000)),
        ("run --plan", &"plan.toml".to_owned()),
    ] {
        let run = switchcost(flags).arg(value).folder(folder.path()).finish();
        assert!(run.code > 0, "{run}");
        expect_brief(&run, 2000);
    }
}
