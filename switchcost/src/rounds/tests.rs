use record::Interference;

use super::*;
use crate::cases::Cases;
use crate::testing;

fn cases() -> Vec<Case> {
    crate::plan::Plan::built_in().unwrap().cases(false)
}

#[test]
fn a_round_has_every_case_once_in_an_order_of_its_own() {
    let cases = cases();
    let order = |round| -> Vec<(u32, Option<u64>)> {
        let order = shuffled(&cases, round, 5);
        assert_eq!(order.last().unwrap().0 as usize, order.len() - 1);
        order.iter().map(|&(_, k)| (cases[k].index, cases[k].x)).collect()
    };
    let (first, second) = (order(0), order(1));
    assert_ne!(first, second);
    let sorted = |mut order: Vec<(u32, Option<u64>)>| {
        order.sort_unstable();
        order
    };
    assert_eq!(sorted(first.clone()), sorted(second));
    assert_eq!(first.len(), cases.len());
    // The same seed gives the same order again, whatever was run before.
    assert_eq!(first, order(0));
}

#[test]
fn a_process_that_the_host_disturbed_gives_way_to_the_next_one() {
    let mut disturbed = testing::record("a", 9, &[1_000_000; 10]);
    let steal = |ns| Interference { steal: Some(ns), ..Interference::default() };
    disturbed.interference = Some(steal(500_000));
    assert!(is_disturbed(&disturbed, Some(0.04)));
    assert!(!is_disturbed(&disturbed, Some(0.06)) && !is_disturbed(&disturbed, None));
    let quiet = disturbed.clone();
    disturbed.disturbed = true;
    for (records, counted) in [(vec![disturbed.clone()], 0), (vec![disturbed, quiet], 1)] {
        let cases = Cases::of(&records);
        let (_, runs) = cases.in_order()[0];
        assert_eq!((runs.all.len(), runs.failed), (counted, 0));
    }
}

#[test]
fn a_case_runs_in_as_many_rounds_as_it_has() {
    let cases = cases();
    let runs: usize = (0..100).map(|round| shuffled(&cases, round, 5).len()).sum();
    let rounds: u32 = cases.iter().map(|case| case.rounds.min(100)).sum();
    assert_eq!(runs, rounds as usize);
}

#[test]
fn the_header_names_each_case_at_its_place() {
    let cases = cases();
    let some: Vec<Case> = cases.iter().filter(|c| c.index % 3 == 1).cloned().collect();
    let plan = plan(&some);
    for case in &some {
        let (section, cell) = plan.get(case.index).unwrap();
        assert_eq!((section, cell), (&*case.section, &*case.cell));
    }
}
