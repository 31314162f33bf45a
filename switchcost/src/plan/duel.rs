//! Cases of a duel: each on both sides, and a twin of the first.

use std::collections::{BTreeMap, BTreeSet};

use record::Side;

use super::Case;

/// Task counts of a line. More pairs are worth more than more counts.
const COUNTS: usize = 3;

/// Cases of a duel: each of these on both sides, and a twin of the first.
pub fn sides(cases: Vec<Case>) -> Vec<Case> {
    let on = |case: &Case, side, twin| Case {
        side: Some(side),
        twin,
        // As many as the budget allows.
        rounds: u32::MAX,
        ..case.clone()
    };
    let all = cases.into_iter().filter(|case| !case.twin).flat_map(|case| {
        [on(&case, Side::A, false), on(&case, Side::B, false), on(&case, Side::A, true)]
    });
    all.collect()
}

/// Keeps as many task counts of each slope as a line has, from the fewest to the most.
pub fn thin_out(cases: &mut Vec<Case>) {
    let mut counts: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
    for case in cases.iter() {
        counts.entry(case.index).or_default().extend(case.x);
    }
    cases.retain(|case| {
        let all: Vec<u64> = counts[&case.index].iter().copied().collect();
        let last = all.len().saturating_sub(1);
        let is_kept = |x: u64| (0..COUNTS).any(|k| all[k * last / (COUNTS - 1)] == x);
        case.x.is_none_or(is_kept)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    #[test]
    fn a_line_has_both_ends_and_what_is_between() {
        let plan = Plan::memory().unwrap();
        let mut cases = plan.cases(false);
        thin_out(&mut cases);
        let bare = cases.iter().filter(|case| case.cell.name() == "bare thread");
        let tasks: Vec<_> = bare.filter_map(|case| case.x).collect();
        assert_eq!(tasks, [200, 950, 2000]);
    }

    #[test]
    fn each_case_has_two_sides_and_a_twin() {
        let cases = Plan::built_in().unwrap().cases(false);
        let own = cases.iter().filter(|case| !case.twin).count();
        let all = sides(cases);
        assert_eq!(all.len(), 3 * own);
        assert!(all.iter().all(|case| !case.twin || case.side == Some(Side::A)));
    }
}
