//! Command lines and inputs that cannot be printed or understood.

use std::fs::OpenOptions;
use std::path::Path;

use super::switchcost;
use crate::support::RUNNER;
use crate::support::process::Run;

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
