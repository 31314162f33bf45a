//! That a machine which has changed is not taken for a program that has, on files of which the truth is
//! known.

use facts::{Also, Metric, Quantity, Record};
use switchcost::figures::number::change;
use switchcost::figures::verdict::{MARGIN, Reason, Verdict};
use switchcost::views::compare::Comparison;

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
        record.cpus = Some("0".to_owned());
    }
    records
}

#[test]
fn what_the_machine_may_have_done_is_no_verdict() {
    let same = with_yardstick(1.0, 1.0);
    for (own, yardstick, expected) in [
        (1.1, 1.1, "no verdict: up to 10 %"),
        (1.13, 1.1, "no verdict: the machine changed"),
        (1.1, 1.2, "no verdict: up to 10 %"),
        (1.3, 1.1, "slower"),
        (0.8, 1.1, "faster"),
        (1.1, 1.0, "slower"),
        // An interval inside the margin, whatever its sign.
        (1.03, 1.0, "unchanged"),
        (1.0, 1.0, "unchanged"),
    ] {
        let new = with_yardstick(own, yardstick);
        let compared = pair(&same, &new);
        let verdict = verdicts(&compared)[0].in_full(Quantity::Time);
        assert_eq!(verdict, expected, "{own} beside {yardstick}");
        assert_told(&compared);
        // A yardstick is never to blame.
        let is_moved = verdicts(&compared)[1] == Verdict::Inconclusive(Reason::Machine);
        assert_eq!(is_moved, yardstick > 1.0);
        assert!(compared.worse_than(0.05).iter().all(|case| case.name == "case 0"));
        let way_out = text(&compared).contains("switchcost duel");
        assert_eq!(way_out, yardstick > 1.0);
    }
}

/// A wake-up on another CPU is the scheduler's.
#[test]
fn an_unpinned_yardstick_is_none() {
    let [old, new] = [1.0, 1.5].map(|factor| {
        let mut records = with_yardstick(factor, factor);
        records.iter_mut().for_each(|record| record.cpus = None);
        records
    });
    assert_eq!(verdicts(&pair(&old, &new)), [Verdict::More; 2]);
}

/// All that is judged, beside yardsticks or not, is one family, and every row shows the interval of its
/// verdict: it excludes no change if that is a difference, and lies inside the margin if that is none.
fn assert_told(comparison: &Comparison<'_>) {
    let judged = comparison.cases.iter().filter(|case| case.change.judged.is_some());
    assert_eq!(comparison.family, judged.count());
    for case in &comparison.cases {
        // Once in a while chance makes two modes, and there is nothing to show.
        let Some(shown) = case.change.shown() else { continue };
        let interval = shown.interval.unwrap();
        let is_inside = interval.low >= 1.0 - MARGIN && interval.high <= 1.0 + MARGIN;
        let verdict = case.change.verdict;
        let differs = !interval.contains(1.0) && !is_inside && !case.is_yardstick;
        assert_eq!(verdict.has_changed(), differs, "{} {:?}", case.name, case.change);
        let is_within = matches!(verdict, Verdict::Within(_));
        let is_machine = verdict == Verdict::Inconclusive(Reason::Machine);
        let is_said = if case.is_yardstick { is_within } else { is_within || is_machine };
        assert_eq!(is_said, is_inside, "{} {:?}", case.name, case.change);
        assert!(text(comparison).contains(&change(shown)));
    }
}

/// The machine takes 1.5 times as long, and a case 1.65 times: 10 % longer beside it, in its rate too.
#[test]
fn the_change_shown_is_the_one_beside_the_yardsticks() {
    let [old, new] = [(1.0, 1.0), (1.65, 1.5)].map(|(own, yardstick)| {
        let mut records = with_yardstick(own, yardstick);
        for record in &mut records {
            let rate = Also { name: "rate".to_owned(), metric: Metric::Rate };
            edit(record, |run, _| run.plan.sections[0].also = vec![rate]);
        }
        records
    });
    let compared = pair(&old, &new);
    assert_told(&compared);
    for (name, measured, beside) in [("case 0", 1.65, 1.1), ("case 0, rate", 1.0 / 1.65, 1.0 / 1.1)]
    {
        let change = &compared.cases.iter().find(|case| case.name == name).unwrap().change;
        let is_more = name == "case 0";
        assert_eq!(change.verdict, if is_more { Verdict::More } else { Verdict::Less });
        assert!((change.measured.unwrap().value - measured).abs() < 1e-9, "{change:?}");
        assert!((change.shown().unwrap().value - beside).abs() < 1e-9, "{change:?}");
        // The gate sees the same.
        let fails = |limit| compared.worse_than(limit).iter().any(|case| case.name == name);
        assert!(fails(0.09) && !fails(0.11));
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
        record.cpus = Some("0".to_owned());
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
            let new = drifting(&mut noise, own, drift);
            let compared = pair(&old, &new);
            assert_told(&compared);
            verdicts(&compared)[0]
        });
        let verdicts: Vec<Verdict> = pairs.collect();
        let share = |of: fn(&Verdict) -> bool| {
            verdicts.iter().filter(|verdict| of(verdict)).count() as f64 / PAIRS as f64
        };
        (share(|verdict| *verdict == Verdict::More), share(|verdict| verdict.has_changed()))
    };
    let (found, _) = tally(1.1, 0.02);
    assert!(found > 0.9, "10 % found in {found}");
    let (_, wrong) = tally(1.0, 0.2);
    assert!(wrong <= 0.05, "different in {wrong}");
}
