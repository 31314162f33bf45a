//! `scripts/kernels.sh`, as far as it can be tried without booting a machine: `.ci/run` boots one.

use super::{can_run, folder_of, script, within};

#[test]
fn it_explains_itself() {
    if !can_run(&["bash"]) {
        return;
    }
    let help = script("kernels.sh", "--help").finish().expect_quiet_success();
    for word in ["Usage: kernels.sh", "--only", "5.10 6.1 6.12", "KERNELS_CACHE", "Exit status"] {
        assert!(help.stdout.contains(word), "'{word}' is missing: {help}");
    }
}

#[test]
fn bad_usage_is_told_before_anything_is_made() {
    if !can_run(&["bash", "grep"]) {
        return;
    }
    for (flags, word) in [
        ("--frobnicate", "--frobnicate"),
        ("2.4", "'2.4'"),
        ("--only nine 6.1", "'nine'"),
        ("--only", "--only"),
        ("--archive /nonexistent", "/nonexistent"),
    ] {
        script("kernels.sh", flags).finish().expect_refusal(2, &[word, "--help"]);
    }
}

#[test]
fn a_tool_that_is_missing_is_named() {
    if !can_run(&["bash", "env", "dirname", "readlink", "grep", "cat"]) {
        return;
    }
    let tools = folder_of(&["bash", "env", "dirname", "readlink", "grep", "cat"]);
    let path = tools.path().display();
    let run = within(&format!(r#"PATH='{path}' exec "$0" "$@""#), "kernels.sh", "");
    run.finish().expect_refusal(3, &["is not installed", "qemu-system-x86"]);
}
