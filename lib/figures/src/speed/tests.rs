use super::*;
use crate::testing;
use record::Probe;
use stats::Estimate;

/// A slice of ten iterations that took so many ns together.
fn slice(total: u64, before: u32, after: u32) -> Slice {
    let probes = vec![Probe { cpu: 1, before, after }];
    Slice { window: 10_000, iterations: 10, total, probes, ..Slice::default() }
}

fn of(slices: Vec<Slice>) -> Record {
    let mut record = testing::record("p", 9, &[100; 9]);
    record.trial.slices = slices;
    record
}

/// Read by themselves.
fn read(records: &[Record]) -> (Vec<Timed<'_>>, Speed) {
    correct(records, &Levels::of(records))
}

#[test]
fn the_correction_says_how_far_it_is_off() {
    let held_out =
        [[0.01, 0.02], [0.02, -0.03], [0.03, 0.04]].map(|logs: [f64; 2]| logs.map(f64::ln_1p));
    let speed = Speed { held_out: held_out.into(), ..Speed::default() };
    assert_eq!(
        speed.correction().unwrap(),
        "corrected times against quiet slices alone, 3 cases: +2.0 % in the median, 95 % of them \
         within 2.9 %; by disturbed slices alone +2.0 %, 3.9 %"
    );
}

#[test]
fn slices_whose_time_others_had_do_not_count() {
    let stolen = Slice { stolen: Some(10_000), turn: 1, ..slice(9000, 800, 800) };
    let others = Slice { others: Some(300), turn: 2, ..slice(9000, 800, 800) };
    let records = [of(vec![slice(1000, 800, 800), stolen.clone(), others])];
    let (timed, speed) = read(&records);
    assert_eq!((speed.slices, speed.stolen, speed.others), (3, 1, 1));
    let corrected = timed[0].corrected.as_ref().unwrap();
    assert_eq!(corrected.turns.keys().collect::<Vec<_>>(), [&0]);
    assert!(corrected.is_short);
    assert!((timed[0].iteration().unwrap() - 100.0).abs() < 1e-6);
    // A round without a slice that counts has no time.
    let quiet = of(vec![slice(1000, 800, 800)]);
    let records = [quiet.clone(), of(vec![stolen.clone()]), quiet.clone()];
    let times: Vec<Option<f64>> = read(&records).0.iter().map(Timed::iteration).collect();
    assert_eq!(times.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
    // If most rounds have none, all slices count and are marked.
    let records = [of(vec![stolen.clone()]), of(vec![stolen.clone()]), quiet.clone()];
    for (timed, is_short) in read(&records).0.iter().zip([true, true, false]) {
        assert_eq!(timed.corrected.as_ref().unwrap().is_short, is_short);
    }
    // A twin does not count as a round of the row itself.
    let mut twin = quiet;
    Arc::make_mut(&mut twin.header).rows[0].place.side = Side::Twin;
    let records = [of(vec![stolen]), twin];
    assert!(read(&records).0.iter().all(|timed| timed.iteration().is_some()));
}

/// Programs, and how far they follow the speed of the machine.
const ROWS: [(&str, f64); 4] = [("a", 0.4), ("b", 0.6), ("c", 0.9), ("d", 1.1)];

/// Steps of a slice in which the machine may change.
const STEPS: usize = 8;

/// A machine with a CPU that is quiet or slowed. In each step, it slows down or recovers with these chances;
/// its probes show that with noise. Each process has a bias of 2 %, and slices have heavy tails. All quiet times are
/// 100 µs.
fn simulated(rng: &mut fastrand::Rng, flips: [f64; 2]) -> Vec<Record> {
    let normal = |rng: &mut fastrand::Rng| (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
    let mut is_slow = rng.f64() < flips[0] / (flips[0] + flips[1]);
    let mut step = |rng: &mut fastrand::Rng| {
        is_slow ^= rng.f64() < flips[usize::from(is_slow)];
        f64::from(u8::from(is_slow))
    };
    let models = ROWS.map(|(row, _)| {
        let mut record = of(Vec::new());
        Arc::make_mut(&mut record.header).rows[0].place.row = row.to_owned();
        record
    });
    let mut records = Vec::new();
    for round in 0..12 {
        let bias = ROWS.map(|_| 0.02 * normal(rng));
        let mut slices = ROWS.map(|_| Vec::new());
        for turn in 0..10 {
            for (side, (_, follows)) in ROWS.into_iter().enumerate() {
                let states: [f64; STEPS + 1] = std::array::from_fn(|_| step(rng));
                let slowed = 0.35 * states.iter().sum::<f64>() / states.len() as f64;
                let tail = if rng.f64() < 0.05 { 0.3 } else { 0.0 };
                let log = follows * slowed + bias[side] + tail + 0.03 * normal(rng);
                let mut probe = |state: f64| {
                    let noise = if state > 0.0 { 0.06 } else { 0.01 };
                    (800.0 * (0.35 * state + noise * normal(rng)).exp()) as u32
                };
                let [before, after] = [probe(states[0]), probe(states[STEPS])];
                let total = (1e6 * log.exp()) as u64;
                slices[side].push(Slice { turn, ..slice(total, before, after) });
            }
        }
        for (model, slices) in models.iter().zip(slices) {
            let mut record = model.clone();
            (record.trial.run, record.trial.round, record.trial.slices) = (1, round, slices);
            records.push(record);
        }
    }
    records
}

#[test]
fn intervals_hold_the_quiet_ratio_as_often_as_they_say() {
    for flips in [[0.01, 0.01], [0.005, 0.05], [0.06, 0.02]] {
        let mut rng = fastrand::Rng::with_seed(7);
        let (mut held, mut times, mut ratios) = (0, 0.0, 0.0);
        let trials = 250;
        for _ in 0..trials {
            let records = simulated(&mut rng, flips);
            let (timed, _) = read(&records);
            let of = |row: &str, time: fn(&Timed<'_>) -> Option<f64>| -> Vec<f64> {
                let own = timed.iter().filter(|t| t.record.row().place.row == row);
                own.filter_map(time).collect()
            };
            let [slow, quick] =
                [ROWS[0].0, ROWS[3].0].map(|row| of(row, |timed| timed.with_error()));
            let both: Vec<f64> = quick.iter().zip(&slow).map(|(a, b)| a / b).collect();
            let ratio = Estimate::geometric_mean(&both).unwrap();
            let hidden = |row: &str| of(row, |timed| Some(timed.corrected.as_ref()?.hidden));
            let hidden = [ROWS[0].0, ROWS[3].0].map(|row| stats::median(&hidden(row)).unwrap());
            let all = ratio.map(f64::ln).widened(100.0, |_| hidden[0].hypot(hidden[1]));
            held += u32::from(all.interval.unwrap().contains(0.0));
            ratios += ratio.value.ln() / f64::from(trials);
            let time = of(ROWS[3].0, |timed| timed.iteration());
            times += time.iter().map(|time| (time / 1e5).ln()).sum::<f64>()
                / time.len() as f64
                / f64::from(trials);
        }
        // 95 % of 250, give or take; more where probes tell less.
        assert!((231..=248).contains(&held), "{flips:?}: {held}");
        assert!(times.abs() < 0.02 && ratios.abs() < 0.02, "{flips:?}: {times} {ratios}");
    }
}

/// A neighbour that comes and goes many times in a slice: its probes tell little, and the figures say so.
#[test]
fn what_probes_tell_little_of_is_uncertain() {
    for (flips, is_uncertain) in [([0.4, 0.4], true), ([0.2, 0.2], true), ([0.002, 0.002], false)] {
        let records = simulated(&mut fastrand::Rng::with_seed(5), flips);
        let (timed, _) = read(&records);
        let corrected = timed.iter().filter_map(|timed| timed.corrected.as_ref());
        let (hidden, uncertain): (Vec<f64>, Vec<f64>) =
            corrected.map(|own| (own.hidden, own.uncertainty)).unzip();
        let [hidden, uncertain] = [hidden, uncertain].map(|all| stats::median(&all).unwrap());
        assert_eq!(hidden > 0.02, is_uncertain, "{flips:?}: {hidden}");
        assert_eq!(uncertain > 0.02, is_uncertain, "{flips:?}: {uncertain}");
    }
}

/// A CPU that is hardly ever quiet still has the quick level.
#[test]
fn the_quick_level_is_that_of_few_probes() {
    let busy = (0..200).map(|turn| {
        let time = if turn % 40 == 0 { 800 } else { 1080 };
        Slice { turn, ..slice(1000, time, time) }
    });
    let records = [of(busy.collect())];
    let probe = Probe { cpu: 1, before: 800, after: 1080 };
    assert_eq!(Levels::of(&records).slowness(&probe), Some([0.0, 1.35f64.ln()]));
    let own = |records: &[Record]| read(records).0[0].corrected.clone().unwrap();
    let corrected = own(&records);
    assert!((corrected.near - 0.025).abs() < 1e-9, "{corrected:?}");
    assert!((corrected.slowness - 0.975 * 1.35f64.ln()).abs() < 1e-9, "{corrected:?}");
    // One that is read together with a quiet session is as slow, and its own probes are near each other.
    let mut quiet = of((0..200).map(|turn| Slice { turn, ..slice(900, 800, 800) }).collect());
    quiet.trial.run = 7;
    let busy = of((0..200).map(|turn| Slice { turn, ..slice(1000, 1080, 1080) }).collect());
    let both = [busy.clone(), quiet];
    let (timed, _) = read(&both);
    let corrected = timed[0].corrected.as_ref().unwrap();
    assert!((corrected.slowness - 1.35f64.ln()).abs() < 1e-9 && corrected.near == 1.0);
    assert_eq!(own(&[busy]).slowness, 0.0);
}

#[test]
fn corrected_times_that_follow_the_slowness_are_off() {
    for (follows, is_clear) in [(0.4, true), (0.0, false)] {
        let processes = (0..12).map(|round| {
            let mut record = of(Vec::new());
            record.trial.round = round;
            let (slowness, noise) = (f64::from(round % 3) / 10.0, f64::from(round % 2) / 1000.0);
            (record, [slowness, follows * slowness + noise])
        });
        let processes: Vec<_> = processes.collect();
        let of = |count: usize| {
            Follows::of(processes[..count].iter().map(|(record, both)| (record, *both)))
        };
        let found = of(12).unwrap();
        assert!((found.slope - follows).abs() < 0.01, "{found:?}");
        assert_eq!(found.is_clear(), is_clear, "{found:?}");
        assert_eq!(of(4), None);
    }
}

/// In one of eight turns, one side takes eleven times as long.
#[test]
fn a_pause_shows_in_the_mean_alone() {
    let turns = |pause: u64| {
        (0..8).map(move |turn| Slice {
            turn,
            ..slice(1000 * if turn == 3 { pause } else { 1 }, 800, 800)
        })
    };
    let records = [1, 11].map(|pause| of(turns(pause).collect()));
    let (timed, _) = read(&records);
    let [steady, pausing] = &timed[..] else { panic!() };
    assert_eq!(pausing.log_ratio(steady), Some(0.0));
    assert!((pausing.log_ratio_of_means(steady).unwrap() - (18f64 / 8.0).ln()).abs() < 1e-9);
    assert!((pausing.mean().unwrap() - 100.0 * 18.0 / 8.0).abs() < 1e-6);
    // Turns that only one of them has do not count.
    let few = [of(turns(1).take(3).collect()), records[1].clone()];
    let (timed, _) = read(&few);
    assert!(timed[1].log_ratio_of_means(&timed[0]).unwrap().abs() < 1e-9);
}

/// A row that was always as quick, and one that hardly ever was slower, follow the speed as others do.
#[test]
fn a_row_that_tells_next_to_nothing_has_the_mean_slope() {
    let record = of(Vec::new());
    let rows = [(0.3, 40), (0.001, 40), (0.0, 40), (0.3, 10), (0.3, 11)].map(|(slowed, slices)| {
        let looks = (0..slices).map(|turn: u32| {
            let x = slowed * f64::from(turn % 2);
            let noise = 0.01 * f64::from(turn % 8 / 2);
            Look { turn, x, apart: 0.0, y: 0.5 * x + noise, is_quiet: x == 0.0 }
        });
        let looks: Vec<Look> = looks.collect();
        let every_look = looks.clone();
        vec![SlicedProcess {
            index: 0,
            record: &record,
            cpus: 1,
            near: 1.0,
            every_look,
            looks,
            is_short: false,
        }]
    });
    let place = |row: &str| Place { row: row.to_owned(), ..Place::default() };
    let rows = ["a", "b", "c", "d", "e"].map(place).into_iter().zip(rows).collect();
    let [clear, hardly, none, few, enough] =
        slopes(&rows, &[(1, 1.0)].into()).try_into().ok().unwrap();
    assert!((clear.value - 0.5).abs() < 0.02 && clear.variance < 0.01, "{}", clear.value);
    assert!((hardly.value - none.value).abs() < 0.01 && none.value > 0.6, "{}", none.value);
    assert!((hardly.variance / none.variance - 1.0).abs() < 0.01, "{}", none.variance);
    assert_eq!((few.value, few.variance), (none.value, none.variance));
    assert!(enough.variance < none.variance, "{}", enough.variance);
}

#[test]
fn the_mean_of_a_figure_does_not_depend_on_the_error_of_its_slope_and_is_that_of_quiet_slices() {
    let records = simulated(&mut fastrand::Rng::with_seed(3), [0.02, 0.02]);
    let (timed, speed) = read(&records);
    assert_eq!(speed.held_out.len(), ROWS.len());
    assert!(speed.held_out.as_flattened().iter().all(|log| log.abs() < 0.05), "{speed:?}");
    let own: Vec<&Timed<'_>> = timed.iter().step_by(ROWS.len()).collect();
    let errors = own.iter().map(|timed| timed.corrected.as_ref().unwrap().error);
    assert!(errors.clone().sum::<f64>().abs() < 1e-9);
    assert!(errors.map(f64::abs).fold(0.0, f64::max) > 1e-4);
}

#[test]
fn a_process_that_sleeps_follows_no_speed() {
    let slices = (0..20).map(|turn| {
        let slow = 1 + turn % 2;
        Slice { turn, ..slice(1000 * u64::from(slow), 800 * slow, 800 * slow) }
    });
    let mut record = of(slices.collect());
    let samples = record.samples.as_ref().unwrap();
    let elapsed = (samples.mean * samples.count as f64) as u64;
    for (share, is_corrected) in [(0.2, false), (0.9, true)] {
        let user_ns = (share * elapsed as f64) as u64;
        record.trial.usage = Some(contract::message::Usage { user_ns, ..Default::default() });
        let records = [record.clone()];
        let (timed, _) = read(&records);
        let correction = timed[0].corrected.as_ref().unwrap().correction;
        assert_eq!(correction != 0.0, is_corrected, "{share}: {correction}");
    }
}
