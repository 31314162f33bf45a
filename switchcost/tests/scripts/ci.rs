//! `scripts/ci-duel.sh`, with a runner that ends as it is told.

use std::fs;

use super::{can_run, executable, path_of, script};
use crate::support::process::Run;

#[test]
fn a_step_of_a_workflow_ends_as_its_duel() {
    if !can_run(&["bash", "env", "mktemp", "date"]) {
        return;
    }
    for flags in ["", "--budget 9s"] {
        script("ci-duel.sh", flags).finish().expect_refusal(2, &["revision", "--help"]);
    }
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["scripts/lib", "target/release", "bin"] {
        fs::create_dir_all(path(name)).unwrap();
    }
    for name in ["ci-duel.sh", "lib/common.sh"] {
        fs::copy(path_of(name), path("scripts").join(name)).unwrap();
    }
    executable(&path("bin/cargo"), "#!/bin/sh\n");
    let duel = "#!/bin/sh\necho \"verdicts of $*\"; exit $STATUS\n";
    executable(&path("target/release/switchcost"), duel);
    let outputs = ["summary", "outputs"].map(path);
    for (status, code, verdict) in [
        (0, 0, Some("pass")),
        (1, 1, Some("regression")),
        (2, 2, None),
        (3, 0, Some("inconclusive")),
    ] {
        outputs.iter().for_each(|output| fs::write(output, "").unwrap());
        let preparation = format!(
            r#"PATH="{}:$PATH" STATUS={status} GITHUB_STEP_SUMMARY="{}" GITHUB_OUTPUT="{}" exec "$0" "$@""#,
            path("bin").display(),
            outputs[0].display(),
            outputs[1].display()
        );
        let run = Run::within(&preparation, &path("scripts/ci-duel.sh")).flags("abc --budget 9s");
        let run = run.finish().expect(code);
        assert!(run.stdout.starts_with("verdicts of duel git:abc . --out duel-"), "{run}");
        assert!(run.stdout.contains(".jsonl --budget 9s"), "{run}");
        assert_eq!(run.stdout.contains("::warning::"), status == 3, "{run}");
        let [summary, told] = outputs.each_ref().map(|output| fs::read_to_string(output).unwrap());
        assert_eq!(summary.contains("verdicts of"), verdict.is_some(), "{summary}");
        let expected = verdict.map_or(String::new(), |verdict| format!("verdict={verdict}\n"));
        assert!(told.starts_with(&expected) && told.contains("records=") == verdict.is_some());
    }
}
