//! Plans that name CPUs by what they share.

use serde_json::Value;

use crate::support::house::House;
use crate::support::{is_installed, skip};

#[test]
fn a_row_whose_cpus_are_not_to_be_had_says_why_once() {
    if !is_installed("taskset") {
        return skip("no taskset");
    }
    let house = House::new(2, &["one-thread-brigade", "async-brigade"]);
    let plan = house.plan();
    let (first, second) = plan.split_at(plan.rfind("iters = 4").unwrap());
    house.set_plan(&format!("{first}cpus = 'same-cache'\n{second}"));
    let cpu = observe::affinity::allowed().unwrap()[0];
    let taskset = format!("taskset --pid --cpu-list {cpu} $$ >/dev/null || exit 9");
    let run = house.run_after(&taskset, "").finish().expect(0);
    let reason = format!("it needs two CPUs, but this process may use only CPU {cpu}");
    assert!(run.words().contains("not run:"), "{run}");
    let (absent, ran): (Vec<_>, Vec<_>) =
        house.processes().into_iter().partition(|p| p["not_run"].is_string());
    let absent: Vec<_> = absent.iter().map(|p| (&p["program"], &p["not_run"])).collect();
    assert_eq!(absent, [(&Value::from("async-brigade"), &Value::from(reason))]);
    assert_eq!(ran.len(), 2, "the other row, in each round");
    // A list needs no machine that has them.
    let run = house.run("--list").finish().expect(0);
    assert!(run.stdout.contains("(two CPUs: another core, same cache)"), "{run}");
}
