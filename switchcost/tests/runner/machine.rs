//! `switchcost machine`, and plans that name CPUs by what they share.

use serde_json::Value;

use crate::support::house::House;
use crate::support::{is_installed, skip, switchcost};

fn json(flags: &str) -> Value {
    let run = switchcost("machine --format json").flags(flags).finish().expect_quiet_success();
    serde_json::from_str(&run.stdout).unwrap()
}

fn cpus(list: &Value) -> Vec<u64> {
    list.as_array().unwrap().iter().map(|cpu| cpu.as_u64().unwrap()).collect()
}

#[test]
fn each_pair_of_the_cpus_allowed_is_there() {
    let machine = json("");
    let (allowed, used) = (cpus(&machine["allowed"]), cpus(&machine["cpus"]));
    assert!(used.iter().all(|cpu| allowed.contains(cpu)) && used.len() <= 12, "{machine}");
    let online = cpus(&machine["map"]["online"]);
    assert!(online.is_empty() || allowed.iter().all(|cpu| online.contains(cpu)), "{machine}");
    let pairs = machine["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), used.len() * (used.len() - 1) / 2);
    let run = switchcost("machine").finish().expect_quiet_success();
    assert!(run.stdout.lines().all(|line| line.chars().count() < 100), "{run}");
    assert!(run.stdout.contains("\nsockets "), "{run}");
    // One CPU has no pair.
    let one = json(&format!("--cpus {}", used[0]));
    assert_eq!((&one["pairs"], cpus(&one["cpus"])), (&Value::Array(Vec::new()), vec![used[0]]));
}

#[test]
fn a_row_whose_cpus_are_not_to_be_had_says_why_once() {
    if !is_installed("taskset") {
        return skip("no taskset");
    }
    let house = House::new(2, &["one-thread-brigade", "async-brigade"]);
    let plan = house.plan();
    let (first, second) = plan.split_at(plan.rfind("iters = 4").unwrap());
    house.set_plan(&format!("{first}cpus = 'same-cache'\n{second}"));
    let cpu = cpus(&json("")["allowed"])[0];
    let taskset = format!("taskset --pid --cpu-list {cpu} $$ >/dev/null || exit 9");
    let run = house.run_after(&taskset, "").finish().expect(0);
    let reason = format!("it needs two CPUs, but this process may use only CPU {cpu}");
    let words = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("not run:"), "{run}");
    let (absent, ran): (Vec<_>, Vec<_>) =
        house.processes().into_iter().partition(|p| p["not_run"].is_string());
    let absent: Vec<_> = absent.iter().map(|p| (&p["program"], &p["not_run"])).collect();
    assert_eq!(absent, [(&Value::from("async-brigade"), &Value::from(reason))]);
    assert_eq!(ran.len(), 2, "the other row, in each round");
    // A list needs no machine that has them.
    let run = house.run("--list").finish().expect(0);
    assert!(run.stdout.contains("(two CPUs: another core, same cache)"), "{run}");
}
