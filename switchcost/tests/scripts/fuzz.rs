//! `scripts/fuzz.sh`, as far as it can be tried without building a target.

use super::{can_run, script};

#[test]
fn bad_usage_is_told_before_anything_is_built() {
    if !can_run(&["bash"]) {
        return;
    }
    let help = script("fuzz.sh", "--help").finish().expect_quiet_success();
    assert!(help.stdout.contains("records plans flags contract kernels"), "{help}");
    for (flags, word) in
        [("--seconds", "--seconds"), ("--seconds 0", "--seconds"), ("nothing", "'nothing'")]
    {
        script("fuzz.sh", flags).finish().expect_refusal(2, &[word, "--help"]);
    }
}
