//! Slices of programs that take turns: which of them count, and what is kept of each.

use switchcost::figures::speed::{self, Speed};
use switchcost::measure::store;

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
        let iterations: u64 = slices.iter().map(|slice| slice[3].as_u64().unwrap()).sum();
        assert_eq!((iterations, process["samples"]["count"].as_u64()), (40_000, Some(40_000)));
    }
}

/// As if the host had taken time in a turn.
#[test]
fn slices_whose_time_was_stolen_do_not_count() {
    let house = house();
    house.run("").finish().expect(0);
    let mut records = store::read(&house.out()).unwrap().records;
    for slice in records.iter_mut().flat_map(|record| &mut record.process.slices) {
        if slice.turn == 3 {
            slice.stolen = Some(10_000);
        }
    }
    let Speed { timed, slices, .. } = speed::correct(&records);
    assert!(slices.stolen >= records.len(), "{slices:?}");
    for timed in timed {
        // A busy machine may have taken all five: then all count, or none.
        let Some(corrected) = timed.corrected else { continue };
        let turns = &corrected.turns;
        assert!(!turns.contains_key(&3) || turns.len() == 5, "{turns:?}");
    }
}

#[test]
fn percentiles_are_those_of_all_samples() {
    let house = house();
    let metrics = "'samples.p99'\nalso = [{ name = 'tail', metric = 'samples.p99.9' }]";
    house.set_plan(&house.plan().replace("'hop'", metrics));
    for program in TWO {
        // One of a hundred lengths after the other.
        house.fake(program, "samples() { seq \"$1\" | awk '{ print ($1 % 100 + 1) * 1000 }'; }");
    }
    let run = house.run("--format json").finish().expect(0);
    let answer: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let figures = answer["figures"].as_array().unwrap();
    let found: Vec<f64> =
        figures.iter().map(|figure| figure["mean"]["value"].as_f64().unwrap()).collect();
    assert_eq!(found.len(), 4, "{run}");
    assert!(found.iter().all(|ns| (98_900.0..=100_001.0).contains(ns)), "{found:?}");
}
