//! Slices of programs that take turns, and what is kept of each.

use serde_json::Value;

use crate::support::house::House;

const TWO: [&str; 2] = ["one-thread-brigade", "async-brigade"];

/// A house whose programs have five slices in each round: an iteration takes 1 µs, as they say.
fn house() -> House {
    let house = House::new(2, &TWO);
    house.set_plan(&house.plan().replace("iters = 4", "iters = 40000"));
    house
}

#[test]
fn all_take_part_in_each_turn_and_every_slice_is_kept() {
    let house = house();
    house.run("").finish().expect(0);
    for process in house.processes() {
        let slices = process["slices"].as_array().unwrap();
        let turns: Vec<u64> = slices.iter().map(|slice| slice[0].as_u64().unwrap()).collect();
        assert_eq!(turns, [0, 1, 2, 3, 4], "{process}");
        let iterations: u64 = slices.iter().map(|slice| slice[2].as_u64().unwrap()).sum();
        assert_eq!((iterations, process["samples"]["count"].as_u64()), (40_000, Some(40_000)));
    }
}

#[test]
fn percentiles_are_those_of_all_samples() {
    let house = house();
    let metrics = "'samples.p99'\nalso = [{ name = 'tail', metric = 'samples.p99.9' }]";
    house.set_plan(&house.plan().replace("'hop'", metrics));
    // One of a hundred lengths after the other.
    let lengths =
        r#"for (k = 1; k <= n; k++) printf "%s%d", (k > 1 ? "," : ""), (k % 100 + 1) * 1000"#;
    let samples = format!("$(awk -v n=$n 'BEGIN {{ {lengths} }}')");
    let answer = r#"printf '{"at":"ran","samples_ns":[%s]}\n'"#;
    for program in TWO {
        house.fake(program, &format!("[ $what = run ] && {answer} \"{samples}\" && continue"));
    }
    let run = house.run("--format json").finish().expect(0);
    let answer: Value = serde_json::from_str(&run.stdout).unwrap();
    let figures = answer["figures"].as_array().unwrap().iter();
    let found: Vec<f64> = figures.map(|figure| figure["mean"]["value"].as_f64().unwrap()).collect();
    assert_eq!(found.len(), 4, "{run}");
    assert!(found.iter().all(|ns| (98_900.0..=100_001.0).contains(ns)), "{found:?}");
}
