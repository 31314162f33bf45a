//! That a machine which has changed is not taken for a program that has, on files of which the truth is
//! known.

use figures::verdict::{MARGIN, Reason, Verdict};
use record::{Also, Cpus, Metric, Quantity, Record};
use switchcost::views::comparison::Comparison;

use super::synthetic::{Noise, pair, pair_within, quotients, record, row_of, verdicts, worse_than};

/// Two cases of which the second depends on the machine alone; both times are multiplied.
fn with_yardstick(own: f64, yardstick: f64) -> Vec<Record> {
    let mut records: Vec<Record> = (0..10)
        .flat_map(|k| {
            let noise = 1000.0 + f64::from(k % 3);
            [record(0, k, noise * own), record(1, k, noise * yardstick)]
        })
        .collect();
    for record in &mut records {
        let rate = Also { name: "rate".to_owned(), metric: Metric::Rate };
        let is_yardstick = record.trial.row == 1;
        let row = row_of(record);
        row.ties.yardstick = is_yardstick;
        row.also = vec![rate];
        row.command.setting.cpus = Some(Cpus::List(vec![0]));
    }
    records
}

#[test]
fn what_the_machine_may_have_done_is_no_verdict() {
    const MARGIN: f64 = 0.3;
    let same = with_yardstick(1.0, 1.0);
    let machine = "no verdict: the machine changed";
    for (own, yardstick, expected) in [
        (2.0, 2.0, machine),
        (2.1, 2.0, machine),
        (2.0, 2.2, machine),
        (3.5, 2.0, "slower"),
        (0.9, 2.0, "faster"),
        (1.6, 1.0, "slower"),
        // An interval inside the margin, whatever its sign.
        (1.1, 1.0, "unchanged"),
        (1.0, 1.0, "unchanged"),
    ] {
        let new = with_yardstick(own, yardstick);
        let compared = pair_within(&same, &new, MARGIN);
        let verdict = verdicts(&compared)[0].in_full(Quantity::Time);
        assert_eq!(verdict, expected, "{own} beside {yardstick}");
        assert_told(&compared, MARGIN);
        // A yardstick is never to blame.
        let yardsticks = compared.rows.iter().filter(|row| row.name.starts_with("case 1"));
        for quotient in yardsticks.flat_map(|row| &row.quotients) {
            let is_moved = quotient.verdict == Verdict::Inconclusive(Reason::Machine);
            assert_eq!(is_moved, yardstick > 1.0);
        }
        assert!(worse_than(&compared, 0.05).iter().all(|name| name.starts_with("case 0")));
    }
}

#[test]
fn a_yardstick_of_another_program_tells_nothing_of_the_machine() {
    let (old, mut new) = (with_yardstick(1.0, 1.0), with_yardstick(2.0, 2.0));
    for record in new.iter_mut().filter(|record| record.trial.row == 1) {
        row_of(record).command.program += "-of-the-next-edition";
    }
    assert_eq!(verdicts(&pair(&old, &new))[0].in_full(Quantity::Time), "slower");
}

/// Every row shows the interval of its verdict: it excludes no change if that is a difference, and lies inside the
/// margin if that is none.
fn assert_told(comparison: &Comparison, margin: f64) {
    for quotient in quotients(comparison) {
        // Once in a while chance makes two modes, and there is nothing to show.
        let Some(change) = quotient.change else { continue };
        let is_inside = change.low >= -margin && change.high <= margin;
        let is_fit = match quotient.verdict {
            Verdict::Within(_) => is_inside,
            Verdict::More => change.low > 0.0 && !is_inside,
            Verdict::Less => change.high < 0.0 && !is_inside,
            Verdict::Open(_) => change.contains(0.0) && !is_inside,
            Verdict::Inconclusive(why) => why == Reason::Machine,
        };
        assert!(is_fit, "{quotient:?}");
    }
}

/// Thirty rounds of a case and two yardsticks. The machine is slower by `drift`, the second yardstick by `other`
/// times as much, and all vary by 8 % from round to round; the case takes `own` times as long.
fn drifting(noise: &mut Noise, own: f64, drift: f64, other: f64) -> Vec<Record> {
    let mut records = Vec::new();
    for round in 0..30 {
        let machine = 1000.0 * drift * noise.factor(0.08);
        for (case, factor) in (0..).zip([own, 1.0, other]) {
            records.push(record(case, round, machine * factor * noise.factor(0.04)));
        }
    }
    for record in &mut records {
        let is_yardstick = record.trial.row > 0;
        let row = row_of(record);
        row.ties.yardstick = is_yardstick;
        row.command.setting.cpus = Some(Cpus::List(vec![0]));
    }
    records
}

/// The verdicts together allow one wrong one in 20 pairs.
#[test]
fn a_machine_that_varies_hides_no_change_and_makes_none() {
    const PAIRS: usize = 40;
    let mut noise = Noise::of(7);
    let mut changed = |own: f64, drift: f64, other: f64| {
        let pairs = (0..PAIRS).filter(|_| {
            let old = drifting(&mut noise, 1.0, 1.0, 1.0);
            let drift = noise.factor(drift);
            let compared = pair(&old, &drifting(&mut noise, own, drift, other));
            assert_told(&compared, MARGIN);
            verdicts(&compared)[0].has_changed()
        });
        pairs.count() as f64 / PAIRS as f64
    };
    let found = changed(1.4, 0.02, 1.0);
    assert!(found > 0.9, "40 % found in {found}");
    let wrong = changed(1.0, 0.2, 1.0);
    assert!(wrong <= 0.05, "different in {wrong}");
    // Yardsticks that disagree make the intervals longer: a case that moved as one of them did is not different.
    let wrong = changed(1.0, 0.02, 1.2);
    assert!(wrong <= 0.05, "different in {wrong} beside yardsticks that disagree");
}
