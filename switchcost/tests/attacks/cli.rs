//! Command lines and inputs that cannot be printed or understood.

use std::process::{Command, Stdio};

use std::fs::{self, OpenOptions};
use std::path::Path;

use super::{RECORDS, switchcost};
use crate::support::process::{NO_FILES, Run};
use crate::support::{RUNNER, skip};

#[test]
fn a_help_text_that_cannot_be_printed_is_an_error() {
    for flags in ["--help", "--version", "report --help"] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let run = switchcost(flags).finish_into(full).expect(1);
        run.expect_complaint(&["cannot print the help", "No space left"]);
        let run = switchcost(flags).finish().expect_quiet_success();
        assert!(run.stdout.contains("switchcost"), "{run}");
    }
}

#[test]
fn a_closed_output_is_an_error() {
    let run = Run::within("exec \"$0\" \"$@\" >&-", Path::new(RUNNER)).flags("run --list");
    run.finish().expect(1).expect_complaint(&["standard output is closed"]);
}

#[test]
fn an_output_that_may_not_grow_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (flags, name) in [
        ("--help", "standard output"),
        ("machine", "standard output"),
        ("man --dir pages", "pages"),
        ("report - --html page.html", "page.html"),
        ("report - --svg plots", "plots/"),
    ] {
        let run = Run::within(NO_FILES, Path::new(RUNNER)).flags(flags).folder(folder.path());
        let run = run.input(&fs::read_to_string(RECORDS).unwrap()).finish().expect_quiet_success();
        let is_named = run.stdout.contains(name) && run.stdout.contains("File too large");
        assert!(is_named && run.stdout.ends_with("status 1\n"), "{run}");
    }
}

#[test]
fn a_long_argument_is_not_echoed_whole() {
    let long = "x".repeat(100_000);
    for (flags, code) in [
        (vec![format!("--{long}")], 2),
        (vec![long.clone()], 2),
        (vec!["--plan".to_owned(), long.clone()], 2),
        (vec!["--seed".to_owned(), long.clone()], 2),
        (vec!["report".to_owned(), long.clone()], 1),
    ] {
        let run = switchcost("");
        let run = flags.iter().fold(run, |run, flag| run.arg(flag));
        let run = run.finish();
        assert!(run.stderr.len() < 4000, "{} bytes", run.stderr.len());
        assert!(run.stderr.contains("xxx … "), "{run}");
        run.expect(code);
    }
}

#[test]
fn a_small_stack_is_enough() {
    for flags in ["run --list", "report", "man"] {
        let run = Run::within("ulimit -s 192; exec \"$0\" \"$@\"", Path::new(RUNNER)).flags(flags);
        let run = if flags == "report" { run.arg(RECORDS) } else { run };
        run.finish().expect_quiet_success();
    }
}

/// With a look at all rows for each of them it would take minutes, and be a hang.
#[test]
fn ten_thousand_rows_are_listed() {
    let folder = tempfile::tempdir().unwrap();
    let row = |n: u32| {
        format!(
            "[[section.row]]\nname='r{n}'\nprogram='./p'\niters=1\nwarmup=0\nversus='r{}'\n",
            n ^ 1
        )
    };
    let rows: String = (0..10_000).map(row).collect();
    let plan = format!("rounds=1\n[[section]]\ntitle='t'\nmetric='hop'\n{rows}");
    fs::write(folder.path().join("plan.toml"), plan).unwrap();
    fs::write(folder.path().join("p"), "").unwrap();
    for filter in ["r", "r77"] {
        let run = switchcost("run --plan plan.toml --list --filter").arg(filter);
        let run = run.folder(folder.path()).finish().expect_quiet_success();
        assert_eq!(run.stdout.lines().count(), if filter == "r" { 10_000 } else { 112 });
    }
    let run = switchcost("sweep --tasks 1..2 --filter").arg("").finish();
    run.expect_refusal(2, &["--filter"]);
}

/// Emacs' shell and the logs of some services obey no escape sequence.
#[test]
fn a_dumb_terminal_gets_no_escape_sequences() {
    for flags in ["--help", "--no-such-flag", "check /bin/true"] {
        let mut script = Command::new("script");
        script.args(["-qec", &format!("{RUNNER} {flags}"), "/dev/null"]).env("TERM", "dumb");
        let Ok(output) = script.stdin(Stdio::null()).output() else {
            return skip("no script(1)");
        };
        assert!(!output.stdout.is_empty() && !output.stdout.contains(&0x1b), "{flags}: {output:?}");
    }
}
