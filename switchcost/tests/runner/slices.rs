//! Slices of programs that take turns: which of them count, and what is kept of each.

use std::collections::BTreeSet;

use switchcost::measure::quiet::{Disturbance, Levels};
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

/// The hidden hook disturbs a turn: a probe that is half as long again, stolen time.
#[test]
fn the_slices_of_a_disturbed_turn_do_not_count() {
    for (hook, disturbance) in [("probe@2", Disturbance::Slow), ("steal@3", Disturbance::Stolen)] {
        let house = house();
        let run = house.run("").env("SWITCHCOST_TEST_DISTURB", Some(hook));
        run.finish().expect(0);
        let records = store::read(&house.out()).unwrap().records;
        let levels = Levels::of(records.iter().flat_map(|record| &record.slices));
        let turn: u32 = hook[hook.len() - 1..].parse().unwrap();
        let mut found = BTreeSet::new();
        for record in &records {
            for (slice, quiet) in record.slices.iter().zip(&record.quiet) {
                // A busy machine may have disturbed others as well.
                if slice.turn == turn {
                    assert!(!quiet, "{slice:?}");
                    found.insert(levels.disturbance(slice));
                }
            }
        }
        // The same machine may have been slow in a turn whose time was stolen.
        let expected = [Some(disturbance), Some(Disturbance::Slow)];
        assert!(found.iter().all(|why| expected.contains(why)), "{hook}: {found:?}");
    }
}
