//! The step of `action.yml`, which is `scripts/ci-duel.sh`, with a runner that ends as it is told.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{can_run, executable, path_of};
use crate::support::process::{Outcome, Run};

/// The shell text that the action runs.
fn step() -> String {
    let action = fs::read_to_string(path_of("../action.yml")).unwrap();
    action.split_once("run: |\n").unwrap().1.to_owned()
}

/// An action's folder, the runner of which prints its arguments and ends with `$STATUS`.
fn action(folder: &Path) {
    for name in ["scripts/lib", "target/release", "bin"] {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    for name in ["ci-duel.sh", "lib/common.sh"] {
        fs::copy(path_of(name), folder.join("scripts").join(name)).unwrap();
    }
    let cargo =
        "#!/bin/sh\ntest -z \"$CARGO_STATUS\" || echo cargo failed >&2\nexit ${CARGO_STATUS:-0}\n";
    executable(&folder.join("bin/cargo"), cargo);
    // Of a crate, the sources of both sides too.
    let duel = "#!/bin/sh\necho \"verdicts of $*\"\necho on standard error >&2; >\"$5\"\n\
                for side in \"$2\" \"$3\"; do test ! -d \"${side#*:}\" || cat \"${side#*:}/lib.rs\"; done\n\
                exit $STATUS\n";
    executable(&folder.join("target/release/switchcost"), duel);
}

fn git(folder: &Path, words: &str) {
    let mut git = Command::new("git");
    git.current_dir(folder).args(["-c", "user.name=x", "-c", "user.email=x"]);
    let output = git.args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "git {words}: {output:?}");
}

/// A repository with these texts of `FOLDER/lib.rs`, one a commit.
fn repository(folder: &Path, texts: [&str; 2]) {
    fs::create_dir_all(folder.join("its crate")).unwrap();
    git(folder, "init --quiet");
    for text in texts {
        fs::write(folder.join("its crate/lib.rs"), text).unwrap();
        git(folder, "add its*");
        git(folder, "commit --quiet --message=x");
    }
}

/// The step, as GitHub starts it in a workspace; its summary and outputs.
fn run(action: &Path, workspace: &Path, more: &[(&str, &str)]) -> (Outcome, [String; 2]) {
    let outputs = ["summary", "outputs"].map(|name| action.join(name));
    outputs.iter().for_each(|output| fs::write(output, "").unwrap());
    let path = format!("{}:{}", action.join("bin").display(), std::env::var("PATH").unwrap());
    let step = Run::of("bash").arg("-eo").arg("pipefail").arg("-c").arg(step()).folder(workspace);
    let variables = [
        ("GITHUB_ACTION_PATH", action.to_str().unwrap()),
        ("GITHUB_STEP_SUMMARY", outputs[0].to_str().unwrap()),
        ("GITHUB_OUTPUT", outputs[1].to_str().unwrap()),
        ("PATH", &path),
        ("STATUS", "0"),
        ("CRATE", ""),
        ("FOLDER", "its crate"),
        ("BASE", "HEAD~1"),
        ("PLAN", "why"),
        ("FILTER", "one CPU"),
        ("BUDGET", "9s"),
        ("FAIL_ON", "counts"),
        ("FAIL_ABOVE", "5%"),
        ("FLAGS", "--pairs 8"),
    ];
    let all = variables.iter().chain(more);
    let run = all.fold(step, |step, (name, value)| step.env(name, Some(value))).finish();
    (run, outputs.each_ref().map(|output| fs::read_to_string(output).unwrap()))
}

#[test]
fn a_step_of_a_workflow_ends_as_its_duel() {
    if !can_run(&["bash", "env", "mktemp", "date", "git"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    action(folder);
    repository(folder, ["old", "new"]);
    for (status, code, verdict) in [
        ("0", 0, "pass"),
        ("1", 1, "regression"),
        ("2", 2, "error"),
        ("3", 0, "inconclusive"),
        ("125", 125, "error"),
    ] {
        let (run, [summary, told]) = run(folder, folder, &[("STATUS", status)]);
        let run = run.expect(code);
        assert!(run.stdout.starts_with("verdicts of duel git:HEAD~1 . --out /"), "{run}");
        // What else is asked of the duel leaves the gate as it is.
        let asked =
            "--plan why --filter one CPU --budget 9s --fail-on counts --fail-above 5% --pairs 8";
        assert!(run.stdout.contains(&format!(".jsonl {asked}\n")), "{run}");
        assert_eq!(run.stdout.contains("::warning::"), status == "3", "{run}");
        assert!(summary.starts_with(verdict) && summary.contains("verdicts of"), "{summary}");
        assert_eq!(summary.contains("on standard error"), verdict == "error", "{summary}");
        assert!(told.starts_with(&format!("verdict={verdict}\nrecords=/")), "{told}");
        fs::remove_file(told.split_once("records=").unwrap().1.trim_end()).unwrap();
    }
    let (ungated, [summary, told]) = run(folder, folder, &[("FAIL_ABOVE", "")]);
    assert!(!ungated.expect(0).stdout.contains("--fail-"), "{summary}");
    assert!(told.starts_with("verdict=ungated\n"), "{told}");
    // What cannot be measured is no regression.
    for (name, value, words) in [
        ("BASE", "no-such-revision", "no revision 'no-such-revision'"),
        ("CARGO_STATUS", "1", "cargo failed"),
    ] {
        let (run, [summary, told]) = run(folder, folder, &[(name, value)]);
        run.expect(125).expect_complaint(&[words]);
        assert!(summary.starts_with("error\n") && summary.contains(words), "{summary}");
        assert_eq!(told, "verdict=error\n");
    }
}

#[test]
fn a_crate_is_measured_in_its_own_repository() {
    if !can_run(&["bash", "env", "mktemp", "date", "git"]) {
        return;
    }
    let [ours, theirs] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    action(ours.path());
    git(ours.path(), "init --quiet");
    repository(theirs.path(), ["of the base\n", "of the change\n"]);
    // Twice, since the first one must leave nothing.
    for _ in 0..2 {
        let (run, _) = run(ours.path(), theirs.path(), &[("CRATE", "tokio")]);
        let run = run.expect(0);
        assert!(run.stdout.ends_with("\nof the base\nof the change\n"), "{run}");
    }
    let (run, _) = run(ours.path(), theirs.path(), &[]);
    run.expect(125).expect_complaint(&["no revision 'HEAD~1'", "fetch-depth: 0", "name the crate"]);
}
