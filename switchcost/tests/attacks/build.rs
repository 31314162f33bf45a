//! Tools that build programs, started in a folder that others may write to.

use std::fs;
use std::path::Path;

use super::{script, switchcost};
use crate::support::process::Run;

const PLAN: &str = r#"
    rounds = 1

    [[section]]
    title = "One of them"
    metric = "hop"

    [[section.row]]
    name = "one"
    program = "one-thread-brigade"
    flags = ["--tasks", "1"]
    iters = 1
    warmup = 0
"#;

/// A run in a folder of the user's that a build precedes.
fn built(folder: &Path) -> Run {
    fs::write(folder.join("plan.toml"), PLAN).unwrap();
    switchcost("run --plan plan.toml --out out.jsonl").folder(folder)
}

#[test]
fn cargo_starts_in_the_checkout_and_builds_for_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let text = format!("echo \"$(pwd -P)$CARGO_BUILD_TARGET\" >> '{}'", log.display());
    let cargo = script(&folder.path().join("fake-cargo"), &text);
    let run = built(folder.path()).env("CARGO", cargo.to_str());
    run.env("CARGO_BUILD_TARGET", Some("elsewhere")).finish();
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let checkout = checkout.canonicalize().unwrap();
    assert_eq!(fs::read_to_string(&log).unwrap(), format!("{}\n", checkout.display()));
}

#[test]
fn a_cargo_in_the_current_folder_is_not_started() {
    for variable in [None, Some("cargo"), Some("./cargo"), Some("")] {
        for path in [":/nonexistent", ".:/nonexistent", "/nonexistent:"] {
            let folder = tempfile::tempdir().unwrap();
            script(&folder.path().join("cargo"), "touch planted");
            let run = built(folder.path());
            run.env("CARGO", variable).env("PATH", Some(path)).finish();
            assert!(!folder.path().join("planted").exists(), "{variable:?} {path}");
        }
    }
}
