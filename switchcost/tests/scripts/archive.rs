//! `scripts/archive.sh`, as far as it can be tried without minutes of building: `.ci/run` makes an
//! archive and runs every program of it in an empty root.

use super::{can_run, folder_of, script, within};

#[test]
fn it_explains_itself() {
    if !can_run(&["bash"]) {
        return;
    }
    let help = script("archive.sh", "--help").finish().expect_quiet_success();
    for word in ["Usage: archive.sh", "--musl", "--check", "libc.a", "LGPL", "Exit status"] {
        assert!(help.stdout.contains(word), "'{word}' is missing: {help}");
    }
    let wide = help.stdout.lines().find(|line| line.chars().count() > 100);
    assert_eq!(wide, None, "{help}");
}

#[test]
fn bad_usage_is_told_before_anything_is_built() {
    if !can_run(&["bash"]) {
        return;
    }
    for (flags, word) in [
        ("--frobnicate", "--frobnicate"),
        ("dist", "'dist'"),
        ("--out", "--out"),
        ("--out=", "--out"),
    ] {
        script("archive.sh", flags).finish().expect_refusal(2, &[word, "--help"]);
    }
}

#[test]
fn what_it_needs_and_has_not_is_told() {
    if !can_run(&["bash", "env", "dirname", "readlink", "sed"]) {
        return;
    }
    let without_cargo = folder_of(&["bash", "env", "dirname", "readlink"]);
    let path = without_cargo.path().display();
    let run = within(&format!(r#"PATH='{path}' exec "$0" "$@""#), "archive.sh", "");
    run.finish().expect_refusal(1, &["cargo is not installed", "rustup.rs"]);

    // A compiler that has no target but its own.
    let tools = folder_of(&["bash", "env", "dirname", "readlink", "sed", "cargo"]);
    let rustc = "#!/bin/sh\ncase $* in *--print*) echo /nonexistent ;; *) echo 'host: x-y-linux-z' ;; esac\n";
    super::executable(&tools.path().join("rustc"), rustc);
    let path = tools.path().display();
    let run = within(&format!(r#"PATH='{path}' exec "$0" "$@""#), "archive.sh", "--musl");
    run.finish().expect_refusal(1, &["x-y-linux-musl is not installed", "rustup target add"]);
}
