//! The verbs with the programs themselves, as small as can be.

use figures::unique;
use record::Command;
use serde_json::Value;
use switchcost::measure::probe;
use switchcost::plan::BUILT_IN;

use crate::conformance::programs;
use crate::support::build;
use crate::support::house::House;
use crate::support::process::{Outcome, Run};

const PROGRAMS: [&str; 3] = ["thread-brigade", "one-thread-brigade", "async-brigade"];

/// Real programs in the place of fakes.
fn house() -> House {
    let house = House::new(1, &PROGRAMS);
    for program in PROGRAMS {
        std::fs::remove_file(house.path(program)).unwrap();
        std::fs::hard_link(build().join(program), house.path(program)).unwrap();
    }
    house
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_str(outcome.line()).unwrap()
}

/// A hard limit of 4096 descriptors, the kernel's own, stops a memory row of the default plan half-way.
#[test]
fn a_slope_is_drawn_through_the_counts_that_the_limits_allow() {
    let house = house();
    let plan = "rounds = 1\n[[section]]\ntitle = 'Memory'\nmetric = 'memory'\n[[section.row]]\n\
                name = 'pipes'\nprogram = 'async-brigade'\niters = 1\nwarmup = 0\n\
                tasks = [1, 2, 3, 4, 5, 6, 700, 800]\n";
    house.set_plan(plan);
    let run = house.run_after("ulimit -n 100", "").finish().expect(0);
    let reason = "not run at --tasks 700, 800: this system allows at most";
    let run = run.expect_complaint(&["pipes is", reason, "ulimit -Hn"]);
    assert!(run.stdout.contains("pipes (2 not run)"), "{run}");
    let processes = house.processes();
    let reasons: Vec<&str> = processes.iter().filter_map(|p| p["not_run"].as_str()).collect();
    assert!(reasons.len() == 2 && reasons.iter().all(|r| r.contains("at most")), "{reasons:?}");
}

/// A column of what neighbours notice needs the pass that they are beside.
#[test]
fn columns_of_further_passes_are_filled() {
    let house = house();
    std::fs::hard_link(build().join("blocking-strategies"), house.path("blocking-strategies"))
        .unwrap();
    let run = house.switchcost("run --plan blocking --rounds 1 --out b.jsonl --filter");
    run.arg("10 µs").finish().expect(0);
    let text = std::fs::read_to_string(house.path("b.jsonl")).unwrap();
    assert!(text.contains(r#""heartbeat":{"count""#), "{text}");
}

/// Figures of a metric, curve by curve.
fn points<'a>(answer: &'a Value, metric: &str) -> Vec<&'a Value> {
    let figures = answer["figures"].as_array().unwrap().iter();
    figures.filter(|figure| figure["metric"] == metric).collect()
}

#[test]
fn a_sweep_has_a_point_for_each_value() {
    let house = house();
    let run = house
        .switchcost("sweep --tasks 2..30 --points 3 --rounds 1 --hops 60 --placement unpinned");
    let run =
        run.flags("--program thread-brigade --program async-brigade --out s.jsonl --format json");
    let answer = json(&run.finish().expect(0));
    assert_eq!(answer["curves"][0]["series"].as_array().unwrap().len(), 2, "{answer}");
    let points = points(&answer, "hop");
    let at: Vec<u64> = points.iter().map(|point| point["x"].as_u64().unwrap()).collect();
    assert_eq!(at, [2, 8, 30, 2, 8, 30]);
    assert!(points.iter().all(|point| point["outcome"] == "measured"), "{answer}");
    let report = house.switchcost("report s.jsonl").finish().expect(0);
    assert!(report.stdout.contains("Time per hop over --tasks"), "{report}");
}

#[test]
fn a_sweep_goes_as_far_as_the_limits_and_names_what_stops_it() {
    let house = house();
    let run = Run::within(r#"ulimit -n 64; exec "$0" "$@""#, &house.path("switchcost"));
    let run = run.flags("sweep --tasks 5..100 --points 2 --hops 1 --rounds 1 --format json");
    let run = run.flags("--placement unpinned --program thread-brigade --out");
    let run = run.arg(house.out()).finish().expect(0);
    let answer = json(&run);
    let points = points(&answer, "hop");
    let [first, largest, beyond] = &points[..] else { panic!("three points: {run}") };
    assert!(first["outcome"] == "measured" && largest["outcome"] == "measured", "{run}");
    assert!((6..32).contains(&largest["x"].as_u64().unwrap()), "{run}");
    assert!(beyond["x"] == 100 && beyond["outcome"] == "not-run", "{run}");
    assert!(beyond["reason"].as_str().unwrap().contains("open files"), "{run}");
}

#[test]
fn a_varied_flag_that_no_program_has_is_bad_usage() {
    let house = house();
    let plan = house.plan();
    house.set_plan(
        &plan.replace("metric =", "over = { flag = '--task', values = [2, 3] }\nmetric ="),
    );
    let run = house.run("").finish().expect(2);
    run.expect_complaint(&["none of its programs has the flag --task"]);
}

#[test]
fn stat_tells_what_can_be_observed() {
    let house = house();
    for flags in ["--iters 20 one-thread-brigade", "one-thread-brigade --warmup=0 --iters 20"] {
        let run = house.switchcost(&format!("stat {flags} --tasks 3")).finish().expect(0);
        for word in ["per hop", "switches", "memory", "20 iterations"] {
            assert!(run.stdout.to_lowercase().contains(word), "'{word}' is missing: {run}");
        }
    }
}

/// A flag or a value that a program does not know is a fault of the plan. Two that do not go together
/// are a cell that says so.
#[test]
fn each_case_of_each_built_in_plan_is_understood_by_its_program() {
    let folder = build();
    let mut faults = Vec::new();
    let rows = BUILT_IN.iter().flat_map(|plan| plan.plan().unwrap().rows());
    let mut commands = unique(rows.map(|row| row.command));
    // The programs in Go are elsewhere.
    commands.retain(|command| programs::PROGRAMS.contains(&command.program.as_str()));
    for Command { program, flags, setting } in &commands {
        if let Err(e) = probe::describe(&folder.join(program).into(), flags, setting) {
            let e = format!("{e:#}");
            if e.contains("has no flag") || e.contains("invalid value") {
                faults.push(format!("{program} {}: {e}", flags.join(" ")));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(commands.len() > 100, "{}", commands.len());
}
