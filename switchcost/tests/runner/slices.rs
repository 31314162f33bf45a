//! Slices of programs that take turns, and what is kept of each.

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
