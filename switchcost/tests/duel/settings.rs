//! Settings of a duel's sides.

use std::fs;

use nix::sys::signal::Signal::SIGINT;
use serde_json::Value;

use super::{OTHER, PROGRAM, Sides, answer, of_counts, quotient, row};
use crate::support::house::executable;
use crate::support::process::Run;
use crate::support::until;

/// One folder on both sides, whose programs count what their setting says.
fn of_settings(count: &str) -> Sides {
    let sides = Sides::new(&row(PROGRAM));
    sides.fake("a", PROGRAM, "K", count);
    sides
}

#[test]
fn a_setting_is_found_told_and_repeated() {
    for (setting, count, words) in [
        ("K=2", ": ${K:=1}", "K=2"),
        ("wrap=env K=2", ": ${K:=1}", "wrap='env K=2'"),
        ("flags=--k 2", "K=1; case \"$*\" in *--k\\ 2*) K=2 ;; esac", "flags='--k 2'"),
    ] {
        let sides = of_settings(count);
        let run = of_counts(sides.duel("a a --pairs 8 --out out.jsonl --b").arg(setting));
        assert!(run.stdout.contains("1 more"), "{setting}: {run}");
        assert!(run.stdout.contains(&format!("a with {words}")), "{setting}: {run}");
        let lines = fs::read_to_string(sides.path("out.jsonl")).unwrap();
        let header: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
        assert!(header["command"].as_str().unwrap().contains(setting), "{header}");
    }
    // On both sides it makes no difference.
    let sides = of_settings(": ${K:=1}");
    let both = of_counts(sides.duel("a a --pairs 8 --a K=2 --b K=2"));
    assert!(both.stdout.contains("1 unchanged"), "{both}");
}

#[test]
fn one_side_against_several_settings_is_one_table() {
    let sides = of_settings(": ${K:=1}");
    let flags = "a a --pairs 8 --each K=1 --each K=3 --format json";
    let run = of_counts(sides.duel(flags));
    let json = answer(&run);
    for (setting, change) in [("K=1", 0.0), ("K=3", 2.0)] {
        let found = quotient(&json, &format!("{PROGRAM}: {setting}"), "switches");
        assert_eq!(found["change"]["estimate"], change, "{found}");
    }
}

#[test]
fn a_program_that_does_not_know_a_flag_is_left_out_by_name() {
    let sides = Sides::of_two();
    sides.fake("a", PROGRAM, 1, ":");
    let path = sides.path("a").join(PROGRAM);
    let refusal = "*--x*) echo \"error: unexpected argument '--x' found\" >&2; exit 2 ;;";
    let text = fs::read_to_string(&path).unwrap();
    executable(&path, &text.replace("*--help*)", &format!("{refusal}\n*--help*)")));
    sides.fake("a", OTHER, 1, ":");
    let run = of_counts(sides.duel("a a --pairs 8 --b flags=--x"));
    for words in ["1 not run", &format!("row {PROGRAM}"), "it has no flag --x"] {
        assert!(run.stdout.contains(words), "{words}: {run}");
    }
    let run = sides.duel("a a --pairs 8 --b flags=--x --filter").arg(PROGRAM).finish();
    run.expect_refusal(125, &["no row can be measured", "--x"]);
    let run = sides.duel("a a --pairs 8 --b wrap=true").finish();
    run.expect_refusal(125, &["no row can be measured", "wrap= must execute the program"]);
}

#[test]
fn a_command_changes_the_system_for_one_side_and_puts_it_back() {
    let sides = of_settings("K=$(cat k)");
    fs::write(sides.path("k"), "1").unwrap();
    let commands = ["--before-b", "echo 2 > k", "--after-b", "echo 1 > k; echo back >> log"];
    let with = |run: Run| commands.iter().fold(run, |run, word| run.arg(word));
    let run = of_counts(with(sides.duel("a a --pairs 8")));
    // The heading names what B was.
    for words in ["1 more", "a, before it `echo 2 > k`, after it `echo 1 > k; echo back >> log`"] {
        assert!(run.stdout.replace("\n  ", " ").contains(words), "{words}: {run}");
    }
    let k = || fs::read_to_string(sides.path("k")).unwrap();
    assert_eq!(k(), "1\n");

    fs::remove_file(sides.path("log")).unwrap();
    let running = with(sides.duel("a a --budget 600s")).start();
    until("the setting was put back", || sides.path("log").exists());
    running.signal(SIGINT);
    running.finish();
    assert_eq!(k(), "1\n");

    // The side is to blame if its command fails.
    for flags in ["--after-b true --before-b", "--before-b true --after-b"] {
        let run = sides.duel("a a --pairs 8").flags(flags).arg("echo no >&2; exit 4").finish();
        let run = run.expect(125);
        let words = "B, round 1: `echo no >&2; exit 4`: exit status: 4: no";
        assert!(run.stdout.replace("\n  ", " ").contains(words), "{flags}: {run}");
    }
}

/// What a command starts in the background may keep its outputs open. A signal ends the command, and the other one
/// runs.
#[test]
fn a_command_ends_with_its_shell_or_at_a_signal() {
    let sides = of_settings("K=1");
    let with = |line: &str| {
        sides.duel("a a --pairs 8 --after-b").arg("echo back >> log").arg("--before-b").arg(line)
    };
    of_counts(with("sleep 1000 &"));
    fs::remove_file(sides.path("log")).unwrap();
    let running = with("echo > begun; sleep 1000").start();
    until("the command runs", || sides.path("begun").exists());
    running.signal(SIGINT);
    running.finish().expect(130);
    assert_eq!(fs::read_to_string(sides.path("log")).unwrap(), "back\n");
}

/// A row of one CPU keeps it, and one that has a flag's value already is no duel.
#[test]
fn a_setting_that_a_row_cannot_have_or_has_is_left_out_by_name() {
    let rows = [row(OTHER), row(PROGRAM) + "pin = true\nflags = ['--x', '1']\n"].concat();
    let sides = Sides::new(&rows);
    sides.fake("a", PROGRAM, 1, ":");
    sides.fake("a", OTHER, 1, ":");
    for (setting, why) in [
        ("cpus=0", "cpus=0 would replace the CPUs that its name promises"),
        ("flags=--x 1", "it has flags='--x 1' already"),
    ] {
        let run = of_counts(sides.duel("a a --pairs 8 --b").arg(setting));
        let text = run.stdout.replace("\n  ", " ");
        for words in ["1 not run", "Not run: row one-thread-brigade", why] {
            assert!(text.contains(words), "{words}: {run}");
        }
    }
    let run = sides.duel("a a --each cpus=0 --filter").arg(PROGRAM).finish();
    run.expect_refusal(125, &["no row can be measured", "cpus=0"]);
}
