//! `switchcost duel`, with fakes in the place of programs: each iteration takes 1000 ns, and counts are
//! what a test says.

mod settings;

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::signal::Signal::SIGINT;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::house::{House, executable};
use crate::support::process::{Outcome, Run};
use crate::support::{RUNNER, switchcost, until};

const PROGRAM: &str = "one-thread-brigade";
const OTHER: &str = "thread-brigade";

/// Folders with programs, side by side with a plan.
struct Sides(TempDir);

impl Sides {
    /// A plan of these rows.
    fn new(rows: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let plan = format!(
            "rounds = 1\nexcludes = 'the rest'\n[[section]]\ntitle = 'All'\nmetric = 'hop'\n{rows}"
        );
        fs::write(folder.path().join("plan.toml"), plan).unwrap();
        Sides(folder)
    }

    /// A plan of two rows, one for each program.
    fn of_two() -> Self {
        Sides::new(&[row(PROGRAM), row(OTHER)].concat())
    }

    fn path(&self, side: &str) -> PathBuf {
        self.0.path().join(side)
    }

    /// A program in a folder that has so many voluntary switches an iteration, a number or a variable of the
    /// shell; `before` is what it does before it follows a request.
    fn fake(&self, side: &str, program: &str, switches: impl Display, before: &str) {
        fs::create_dir_all(self.path(side)).unwrap();
        let usage = format!(
            ",\"usage\":{{\"user_ns\":0,\"system_ns\":0,\"voluntary_switches\":$((${{n:-0}} * {switches})),\
             \"involuntary_switches\":0,\"minor_faults\":0,\"major_faults\":0}}"
        )
        .replace('"', "\\\"");
        let text = House::fake_text(program, &format!("{before}\n    field=\"{usage}\""));
        // Equal programs would be left out.
        executable(&self.path(side).join(program), &format!("{text}# of {side}\n"));
    }

    /// Sides `a` and `b` with both programs, in which every iteration has one switch.
    fn of_equals() -> Self {
        let sides = Sides::of_two();
        for side in ["a", "b"] {
            sides.fake(side, PROGRAM, 1, ":");
            sides.fake(side, OTHER, 1, ":");
        }
        sides
    }

    fn duel(&self, flags: &str) -> Run {
        switchcost("duel --plan plan.toml").folder(self.0.path()).flags(flags)
    }
}

fn row(program: &str) -> String {
    format!(
        "[[section.row]]\nname = 'row {program}'\nprogram = '{program}'\niters = 4\nwarmup = 1\n"
    )
}

/// The quotient of a row about one figure.
fn quotient<'a>(answer: &'a Value, row: &str, kind: &str) -> &'a Value {
    let rows = answer["rows"].as_array().unwrap();
    let row = rows.iter().find(|r| r["name"] == format!("row {row}")).unwrap();
    let quotients = row["quotients"].as_array().unwrap();
    quotients.iter().find(|quotient| quotient["kind"] == kind).unwrap()
}

fn answer(run: &Outcome) -> Value {
    serde_json::from_str(run.line()).unwrap()
}

/// A duel of which the counts matter: beside others that use the CPUs no time may have a verdict.
fn of_counts(run: Run) -> Outcome {
    let run = run.finish();
    assert!(matches!(run.code, 0 | 3), "{run}");
    run
}

/// The setting that is measured is kept.
#[test]
fn a_results_file_does_not_say_where_the_sides_are() {
    let (sides, away) = (Sides::of_equals(), tempfile::tempdir().unwrap());
    let run = switchcost("duel").arg(sides.path("a")).arg(sides.path("b"));
    let run = run.arg("--plan").arg(sides.path("plan.toml"));
    let run = run.flags("--pairs 8 --b MEASURED=7 --out out.jsonl").folder(away.path());
    of_counts(run.env("HOME", sides.0.path().to_str()));
    let text = fs::read_to_string(away.path().join("out.jsonl")).unwrap();
    let place = sides.0.path().to_str().unwrap();
    assert!(!text.contains(place) && text.contains("MEASURED=7"), "{text}");
    assert!(text.contains("~/a") && text.contains("~/b") && text.contains("~/plan.toml"), "{text}");
}

#[test]
fn two_folders_are_told_apart_by_exact_counts() {
    let sides = Sides::of_equals();
    sides.fake("b", PROGRAM, 2, ":");
    let run = of_counts(sides.duel("a b --pairs 8 --format json"));
    let json = answer(&run);
    let changed = quotient(&json, PROGRAM, "switches");
    assert_eq!((&changed["verdict"], &changed["is_exact"]), (&"more".into(), &true.into()));
    assert_eq!(changed["change"]["estimate"], 1.0);
    let same = quotient(&json, OTHER, "switches");
    assert_eq!((&same["verdict"]["within"], &same["is_exact"]), (&0.0.into(), &true.into()));
    // Samples of 1000 ns on both sides. Others' work may leave too few of them.
    let time = &quotient(&json, PROGRAM, "time")["change"];
    assert!(time.is_null() || time["estimate"] == 0.0, "{time}");

    for (sides_of, limit, code, words) in [
        ("a b", "40%", 1, "1 more, 1 unchanged"),
        ("b a", "40%", 0, "1 fewer, 1 unchanged"),
        // The limit is the margin, too: what lies inside it counts as none, whatever its sign.
        ("a b", "150%", 0, "2 unchanged"),
    ] {
        let flags = format!("{sides_of} --pairs 8 --fail-on counts --fail-above {limit}");
        let run = sides.duel(&flags).finish().expect(code);
        assert!(run.stdout.contains(words), "{run}");
        assert!(run.stdout.lines().all(|line| line.chars().count() <= 100), "{run}");
    }
}

#[test]
fn report_judges_by_the_margin_of_the_duel() {
    let sides = Sides::of_equals();
    let run = of_counts(sides.duel("a b --pairs 8 --fail-above 50% --out out.jsonl"));
    assert!(run.stdout.contains("within ± 50 %"), "{run}");
    assert!(run.stdout.contains("\nNot in here: the rest.\n"), "{run}");
    let report =
        |flags: &str| switchcost("report out.jsonl").folder(sides.0.path()).flags(flags).finish();
    for flags in ["", "--full"] {
        assert_eq!(report(flags).expect(0).stdout, run.stdout);
    }

    // A second one in the same file has a head of its own.
    let second = of_counts(sides.duel("b a --pairs 8 --out out.jsonl"));
    assert_eq!(report("").expect(0).stdout, format!("{}\n{}", run.stdout, second.stdout));
    let json: Value = serde_json::from_str(&report("--format json").expect(0).stdout).unwrap();
    assert_eq!(json.as_array().map(Vec::len), Some(2), "{json}");
    let text = fs::read_to_string(sides.path("out.jsonl")).unwrap();
    let plain = text.replace(r#""sides":"#, r#""other":"#);
    fs::write(sides.path("out.jsonl"), text + &plain).unwrap();
    report("")
        .expect_refusal(1, &["a duel and other results", "split it by the `run` of its records"]);
}

#[test]
fn a_program_that_fails_or_hangs_on_one_side_is_a_row_and_the_rest_goes_on() {
    let sides = Sides::of_equals();
    sides.fake("b", OTHER, 1, "echo it broke >&2; exit 3");
    let run = of_counts(sides.duel("a b --pairs 8"));
    for words in ["1 failed", "B, round 1: it broke", "the same, exact"] {
        assert!(run.stdout.contains(words), "{words}: {run}");
    }
    let filter = "a b --pairs 8 --fail-above 5% --filter";
    let run = sides.duel(filter).arg(format!("row {OTHER}")).finish().expect(125);
    assert!(run.stderr.contains("every row is decided or has failed after 1 round\n"), "{run}");
    sides.fake("b", OTHER, 1, "exec sleep 1000");
    let run = of_counts(sides.duel("a b --pairs 8 --timeout 2s"));
    assert!(
        run.stdout.contains("B, round 1: timed out") && run.stdout.contains("--timeout"),
        "{run}"
    );
}

#[test]
fn an_interrupt_prints_what_there_is_and_leaves_nothing() {
    let sides = Sides::of_equals();
    let out = sides.path("out.jsonl");
    let lines = || fs::read_to_string(&out).map_or(0, |text| text.lines().count());
    let running = sides.duel("a b --budget 600s --out out.jsonl").start();
    until("a round is over", || lines() > 6);
    running.signal(SIGINT);
    let run = running.finish().expect(130);
    for words in ["2 no verdict", "fewer than 8 pairs"] {
        assert!(run.stdout.contains(words), "{words}: {run}");
    }
}

#[test]
fn a_side_that_is_not_there_or_cannot_be_built_is_one_clear_line() {
    let sides = Sides::of_two();
    sides.fake("a", PROGRAM, 1, ":");
    for folder in ["empty", "crate"] {
        fs::create_dir(sides.path(folder)).unwrap();
    }
    fs::write(sides.path("crate/Cargo.toml"), "[package]\nname = 'other'").unwrap();
    let beside = Path::new(RUNNER).parent().unwrap().to_str().unwrap();
    for (first, second, code, words) in [
        ("a", "git:a\nb", 2, "control characters"),
        ("empty", "empty", 125, "no program"),
        // Nothing is built before.
        (
            "crate",
            ".",
            125,
            "crate has no program of these rows: name a folder with built programs, or write other@path:crate",
        ),
        (".", "tokio@1.50.0", 2, "choose others by --plan"),
        (".", "no-such-crate@1.0.0", 2, "name one that `cargo tree` shows"),
        ("a", "git:no-such-revision", 125, "name another commit"),
        ("a", "git:^HEAD", 125, "name another commit"),
        ("a", "tokio@0.0.99", 125, "0.0.99"),
        // They were built with other features than the other side would be.
        (".", beside, 125, "write . for these sources"),
    ] {
        let run = sides.duel("").arg(first).arg(second).finish();
        let run = run.expect_refusal(code, &[words]);
        assert!(code == 2 || run.stderr.lines().count() == 1, "{run}");
    }
    let other = sides.duel(". .").folder(&sides.path("crate")).finish();
    other.expect_refusal(2, &["this folder is in another cargo package: write other@path:."]);
    // The other row goes on.
    let run = of_counts(sides.duel("a a --pairs 8"));
    for words in ["1 not run", "no program", "\nThe programs are the same on both sides: "] {
        assert!(run.stdout.contains(words), "{words}: {run}");
    }
}
