//! That a machine which has changed is not taken for a program that has, on files of which the truth is
//! known.

use record::Record;
use switchcost::compare::Verdict;

use super::synthetic::{Noise, edit, pair, record, text, verdicts};

/// Two cases of which the second depends on the machine alone; both times are multiplied.
fn with_yardstick(own: f64, yardstick: f64) -> Vec<Record> {
    let mut records: Vec<Record> = (0..10)
        .flat_map(|k| {
            let noise = 1000.0 + f64::from(k % 3);
            [record(0, k, noise * own), record(1, k, noise * yardstick)]
        })
        .collect();
    for record in &mut records {
        edit(record, |run, case| run.plan.cases[case].yardstick = case == 1);
    }
    records
}

#[test]
fn what_the_machine_may_have_done_is_no_verdict() {
    let same = with_yardstick(1.0, 1.0);
    for (own, yardstick, expected) in [
        (1.1, 1.1, Verdict::Inconclusive),
        (1.1, 1.2, Verdict::Inconclusive),
        (1.3, 1.1, Verdict::Slower),
        (0.8, 1.1, Verdict::Faster),
        (1.1, 1.0, Verdict::Slower),
        (1.0, 1.0, Verdict::NoDifference),
    ] {
        let compared = pair(&same, &with_yardstick(own, yardstick));
        assert_eq!(verdicts(&compared)[0], expected, "{own} beside {yardstick}");
        let way_out = text(&compared).contains("switchcost duel");
        assert_eq!(way_out, expected == Verdict::Inconclusive);
    }
}

/// Thirty rounds of a case and two yardsticks. The machine is slower by `drift`, and varies by 8 % from round
/// to round; the case takes `own` times as long.
fn drifting(noise: &mut Noise, own: f64, drift: f64) -> Vec<Record> {
    let mut records = Vec::new();
    for round in 0..30 {
        let machine = 1000.0 * drift * noise.factor(0.08);
        for (case, factor) in (0..).zip([own, 1.0, 1.0]) {
            records.push(record(case, round, machine * factor * noise.factor(0.04)));
        }
    }
    for record in &mut records {
        edit(record, |run, case| run.plan.cases[case].yardstick = case > 0);
    }
    records
}

/// The verdicts together allow one wrong one in 20 pairs.
#[test]
fn a_machine_that_varies_hides_no_change_and_makes_none() {
    const PAIRS: usize = 200;
    let mut noise = Noise::of(7);
    let mut tally = |own: f64, drift: f64| {
        let pairs = (0..PAIRS).map(|_| {
            let old = drifting(&mut noise, 1.0, 1.0);
            let drift = noise.factor(drift);
            verdicts(&pair(&old, &drifting(&mut noise, own, drift)))[0]
        });
        let verdicts: Vec<Verdict> = pairs.collect();
        let share = |of: fn(&Verdict) -> bool| {
            verdicts.iter().filter(|verdict| of(verdict)).count() as f64 / PAIRS as f64
        };
        (share(|verdict| *verdict == Verdict::Slower), share(|verdict| verdict.is_different()))
    };
    let (found, _) = tally(1.1, 0.02);
    assert!(found > 0.9, "10 % found in {found}");
    let (_, wrong) = tally(1.0, 0.2);
    assert!(wrong <= 0.05, "different in {wrong}");
}
