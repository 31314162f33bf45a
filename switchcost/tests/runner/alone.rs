//! The runner in a folder without a checkout, as `cargo install` leaves it.

use crate::support::house::{House, plan_of};

#[test]
fn what_is_not_installed_is_said() {
    let house = House::new(1, &[]).with("thread-brigade");
    let run = |flags: &str| house.switchcost(flags).finish();
    for (flags, code) in [("stat waiting", 2), ("run --plan blocking", 2), ("duel git:HEAD .", 125)]
    {
        run(flags).expect(code).expect_complaint(&["checkout"]);
    }
    // Of a plan the other rows are measured.
    house.set_plan(&plan_of(1, &["uring-brigade", "thread-brigade"]));
    let run = run("run --plan plan.toml --out out.jsonl").expect(0);
    let text = run.words();
    for words in ["uring-brigade not run: there is no program 'uring-brigade' in", "; 1 round."] {
        assert!(text.contains(words), "{words}: {run}");
    }
}
