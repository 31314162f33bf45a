//! Command lines and inputs that cannot be printed or understood.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::process::{NO_FILES, Run};
use crate::support::{FIXTURE, RUNNER, skip, switchcost};

#[test]
fn an_output_that_cannot_be_written_is_named() {
    for flags in ["--help", "report --help", "--version"] {
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let run = switchcost(flags).output(full).finish().expect(1);
        run.expect_complaint(&["switchcost: standard output: No space left"]);
    }
    let folder = tempfile::tempdir().unwrap();
    for (flags, name) in [
        ("completions fish", "standard output"),
        ("report - --html page.html", "page.html"),
        ("report - --svg plots", "plots/"),
    ] {
        let run = Run::within(NO_FILES, Path::new(RUNNER)).flags(flags).folder(folder.path());
        let run = run.input(&fs::read_to_string(FIXTURE).unwrap()).finish().expect_quiet_success();
        let is_named = run.stdout.contains(name) && run.stdout.contains("File too large");
        assert!(is_named && run.stdout.ends_with("status 1\n"), "{run}");
    }
}

/// Emacs' shell and the logs of some services obey no escape sequence.
#[test]
fn a_dumb_terminal_gets_no_escape_sequences() {
    let mut script = Command::new("script");
    script.args(["-qec", &format!("{RUNNER} --help"), "/dev/null"]).env("TERM", "dumb");
    // The logs of CI services show colors although TERM is `dumb`, and clap knows that.
    script.env_remove("CI");
    let Ok(output) = script.stdin(Stdio::null()).output() else {
        return skip("no script(1)");
    };
    assert!(!output.stdout.is_empty() && !output.stdout.contains(&0x1b), "{output:?}");
}
