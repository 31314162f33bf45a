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
fn poison(value: &mut Value) {
    match value {
        Value::String(text) => text.push_str(HOSTILE),
        Value::Array(values) => values.iter_mut().for_each(poison),
        Value::Object(fields) => {
            let free = fields.iter_mut().filter(|(name, _)| !CHOSEN.contains(&name.as_str()));
            free.for_each(|(_, value)| poison(value));
        }
        _ => {}
    }
}

/// Records with hostile text in the place of each that is free.
fn records(sides: bool) -> String {
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
        poison(line);
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
    fs::write(path("a.jsonl"), records(false)).unwrap();
    fs::write(path("b.jsonl"), records(false).replace("no luck", "bad luck")).unwrap();
    fs::write(path("duel.jsonl"), records(true)).unwrap();
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
