use super::*;
use crate::measure::quiet::log_ratio;

/// Pairs as they were seen on a virtual machine: a bias of each pair of 2 to 3 %, and slices with heavy
/// tails.
struct Machine(fastrand::Rng);

impl Machine {
    fn new(seed: u64) -> Self {
        Machine(fastrand::Rng::with_seed(seed))
    }

    /// Irwin-Hall: near enough to a normal deviate.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.0.f64()).sum::<f64>() - 6.0
    }

    fn slice(&mut self, mean: f64) -> f64 {
        let busy = if self.0.f64() < 0.05 { 1.2 } else { 1.0 };
        mean * busy * (0.01 * self.normal()).exp()
    }

    fn pair(&mut self, change: f64, switches: [f64; 2]) -> Pair {
        let second = 1e6 * (1.0 + change) * (0.025 * self.normal()).exp();
        let turns: Vec<[f64; 2]> = (0..6).map(|_| [self.slice(1e6), self.slice(second)]).collect();
        Pair {
            time: Some(Times { medians: [1e6, second], log_ratio: -log_ratio(&turns).unwrap() }),
            switches: Some(switches),
            faults: Some([0.0, 0.0]),
            ..Pair::default()
        }
    }

    fn row(&mut self, change: f64, n: usize) -> Row {
        Row {
            pairs: (0..n).map(|_| self.pair(change, [501.0; 2])).collect(),
            twins: (0..n / 3).map(|_| self.pair(0.0, [501.0; 2])).collect(),
            ..Row::default()
        }
    }
}

fn time(findings: &[Finding]) -> &Finding {
    findings.iter().find(|finding| finding.kind == Kind::Time).unwrap()
}

#[test]
fn a_delay_is_found_and_equal_builds_are_not_called_different() {
    let mut machine = Machine::new(1);
    let (mut found, mut alarms, mut voided) = (0, 0, 0);
    for _ in 0..200 {
        let slower = judge(&[machine.row(0.05, 24)], MARGIN);
        found += usize::from(time(&slower[0]).verdict == Verdict::More);
        let equal = judge(&[machine.row(0.0, 24)], MARGIN);
        voided += equal[0].iter().filter(|finding| finding.is_inconclusive()).count();
        alarms += equal[0]
            .iter()
            .filter(|finding| matches!(finding.verdict, Verdict::More | Verdict::Less))
            .count();
    }
    assert!(found >= 190, "{found}");
    assert!(alarms <= 6, "{alarms}");
    assert!(voided <= 6, "{voided}");
}

#[test]
fn many_rows_are_corrected_together() {
    let mut machine = Machine::new(2);
    let mut alarms = 0;
    for _ in 0..100 {
        let mut rows: Vec<Row> = (0..20).map(|_| machine.row(0.0, 8)).collect();
        rows.push(machine.row(0.5, 8));
        let findings = judge(&rows, MARGIN);
        assert_eq!(time(&findings[20]).verdict, Verdict::More);
        let is_alarm = |findings: &Vec<Finding>| time(findings).verdict == Verdict::More;
        alarms += usize::from(findings[..20].iter().any(is_alarm));
    }
    assert!(alarms <= 4, "{alarms}");
}

#[test]
fn an_interval_excludes_zero_exactly_where_holm_rejects() {
    let mut machine = Machine::new(3);
    for _ in 0..50 {
        let sets: Vec<Vec<f64>> = (0..9)
            .map(|k| (0..8).map(|_| machine.normal() + f64::from(k) * 0.3).collect())
            .collect();
        let sets: Vec<&[f64]> = sets.iter().map(Vec::as_slice).collect();
        let p: Vec<f64> = sets.iter().map(|values| stats::t_p(values).unwrap()).collect();
        for (interval, adjusted) in zip(intervals(&sets), stats::holm(&p)) {
            let is_rejected = adjusted <= (1.0 - CONFIDENCE) * (1.0 - EARLY);
            assert_eq!(!interval.unwrap().contains(0.0), is_rejected, "{adjusted}");
        }
    }
}

#[test]
fn counts_are_exact_where_every_twin_gave_the_same() {
    let mut machine = Machine::new(4);
    let mut row = machine.row(0.0, 8);
    row.pairs = (0..8).map(|_| machine.pair(0.0, [501.0, 1002.0])).collect();
    let [_, switches, faults] = &judge(std::slice::from_ref(&row), MARGIN)[0][..] else {
        panic!("three figures");
    };
    assert_eq!((switches.verdict.clone(), switches.is_exact), (Verdict::More, true));
    assert!((switches.change.unwrap().estimate - 1.0).abs() < 1e-12 && switches.is_share);
    assert!(switches.is_worse_than(0.99) && !switches.is_worse_than(1.01));
    // Without a count there is no share: a difference.
    assert_eq!((faults.verdict.clone(), faults.is_share), (Verdict::Within(0.0), false));
    row.twins[1].switches = Some([501.0, 502.0]);
    assert!(!judge(&[row], MARGIN)[0][1].is_exact);
}

#[test]
fn what_is_more_than_nothing_is_beyond_any_limit() {
    let mut machine = Machine::new(5);
    let mut row = machine.row(0.0, 8);
    row.pairs.iter_mut().for_each(|pair| pair.faults = Some([0.0, 0.5]));
    let findings = judge(&[row], MARGIN);
    assert!(!findings[0][2].is_share && findings[0][2].is_worse_than(10.0));
}

#[test]
fn a_twin_that_differs_voids_its_figure() {
    let mut machine = Machine::new(6);
    let mut row = machine.row(0.3, 24);
    row.twins = (0..8).map(|_| machine.pair(0.3, [501.0; 2])).collect();
    let findings = judge(std::slice::from_ref(&row), MARGIN);
    assert!(time(&findings[0]).is_inconclusive() && !findings[0][1].is_inconclusive());
}

#[test]
fn what_noise_hides_is_not_called_unchanged() {
    let mut machine = Machine::new(8);
    let mut row = machine.row(0.0, 8);
    for (k, pair) in row.pairs.iter_mut().enumerate() {
        pair.time.as_mut().unwrap().log_ratio = if k % 2 == 0 { 0.5 } else { -0.5 };
    }
    assert!(time(&judge(&[row], MARGIN)[0]).is_inconclusive());
}

#[test]
fn a_row_with_few_pairs_or_a_fault_has_no_finding() {
    let mut machine = Machine::new(7);
    let failed = Row { fault: Some(Fault::Failed("x".to_owned())), ..machine.row(0.0, 9) };
    let uncounted = {
        let mut row = machine.row(0.0, 9);
        row.pairs[3].switches = None;
        row
    };
    let lengths: Vec<usize> =
        judge(&[machine.row(0.0, 7), failed, uncounted], MARGIN).iter().map(Vec::len).collect();
    assert_eq!(lengths, [0, 0, 2]);
}

#[test]
fn slices_are_paired_inside_a_turn() {
    // The machine is twice as slow in the second turn.
    assert!((log_ratio(&[[1.1, 1.0], [2.2, 2.0]]).unwrap() - 1.1_f64.ln()).abs() < 1e-12);
    assert_eq!(log_ratio(&[]), None);
    assert_eq!(log_ratio(&[[0.0, 1.0]]), None);
}

#[test]
fn looks_before_the_end_keep_the_error_and_find_what_is_large() {
    let mut machine = Machine::new(10);
    let (mut alarms, mut found) = (0, 0);
    for _ in 0..300 {
        for (change, count) in [(0.0, &mut alarms), (0.2, &mut found)] {
            let row = machine.row(change, 27);
            let at = |n: usize| Row { pairs: row.pairs[..n].to_vec(), ..row.clone() };
            let early =
                [8, 12, 18, 27].into_iter().any(|n| interim(&at(n), 5, MARGIN) == Some(true));
            let verdict = time(&judge(std::slice::from_ref(&row), MARGIN)[0]).verdict.clone();
            *count += usize::from(early || verdict == Verdict::More || verdict == Verdict::Less);
        }
    }
    // One in a hundred, and all.
    assert!(alarms <= 8, "{alarms}");
    assert_eq!(found, 300);
}

#[test]
fn a_change_within_rounding_is_none() {
    let mut machine = Machine::new(11);
    let mut row = machine.row(0.0, 8);
    row.pairs.iter_mut().for_each(|pair| pair.switches = Some([501.0, 501.01]));
    let findings = judge(&[row], MARGIN);
    let switches = findings[0].iter().find(|f| f.kind == Kind::Switches).unwrap();
    assert_eq!(switches.verdict, Verdict::Within(0.0));
}

#[test]
fn memory_is_judged_with_the_times() {
    let mut machine = Machine::new(9);
    let pair = |k: i32, change: f64| {
        let noise = 1.0 + 0.001 * f64::from(k % 3);
        Pair { memory: Some([1000.0, 1000.0 * change * noise]), ..Pair::default() }
    };
    let memory = Row {
        pairs: (0..8).map(|k| pair(k, 1.1)).collect(),
        twins: (0..3).map(|k| pair(k, 1.0)).collect(),
        ..Row::default()
    };
    let findings = judge(&[machine.row(0.0, 8), memory], MARGIN);
    let [finding] = &findings[1][..] else {
        panic!("one figure: {:?}", findings[1]);
    };
    assert_eq!((finding.kind, finding.verdict.clone()), (Kind::Memory, Verdict::More));
    assert!((finding.change.unwrap().estimate - 0.1).abs() < 0.01 && finding.is_share);
    assert!(finding.is_worse_than(0.05) && !finding.is_exact);
}
