use std::sync::mpsc::sync_channel;

use super::super::window::STALL;
use super::*;

/// Time of a task, in ns.
const WORK: u64 = 20_000;

#[test]
fn gaps_are_exponential() {
    let mut rng = Rng::with_seed(3);
    let gaps: Vec<f64> = (0..100_000).map(|_| gap(&mut rng, 1000.0)).collect();
    // Of exponential gaps a share of exp(-x) is longer than x times the mean: 0.3679, 0.0498.
    for (times, share) in [(1.0, 0.3679), (3.0, 0.0498)] {
        let longer = gaps.iter().filter(|&&gap| gap > times * 1000.0).count();
        assert!((longer as f64 / gaps.len() as f64 - share).abs() < 0.005, "{times}: {longer}");
    }
}

#[test]
fn a_schedule_follows_the_load() {
    // 20 µs of work at 50 % of one CPU: an arrival every 40 µs; 100 ms of work are 5000 tasks.
    let plan = Plan::new(50, 1, WORK, 1);
    assert_eq!((plan.gap, plan.lead, plan.room), (40_000.0, 320, 5000));
    // Two at once on four CPUs.
    let plan = Plan::new(80, 2, WORK, 4);
    assert_eq!((plan.gap, plan.room), (12_500.0, 20_000));
    assert_eq!([95, 100, 1000].map(|load| Plan::new(load, 1, WORK, 1).lead), [10_000; 3]);
}

/// Share of the tasks that wait for `t` at most in M/D/1, by Erlang's formula (Theory of probabilities and telephone
/// conversations, 1909); times are in times of a task.
fn erlang(load: f64, t: f64) -> f64 {
    let term = |k: u32| {
        let x = load * (f64::from(k) - t);
        (1..=k).fold((-x).exp(), |term, n| term * x / f64::from(n))
    };
    (1.0 - load) * (0..=t as u32).map(term).sum::<f64>()
}

/// What counts of requests, served one after the other, has the percentiles of a queue that never was empty for a
/// beginning: windows that are too short have less.
#[test]
fn arrivals_that_count_are_late_as_theory_has_it() {
    let mut rng = Rng::with_seed(1);
    for load in [50, 70, 90] {
        let plan = Plan::new(load, 1, WORK, 1);
        let mut waits: Vec<f64> = Vec::new();
        for _ in 0..60 {
            // Lindley's recursion, from an empty queue.
            let mut wait = 0.0_f64;
            for k in 0..plan.arrivals() {
                wait = (wait - gap(&mut rng, plan.gap)).max(0.0);
                if k >= plan.lead {
                    waits.push(wait / WORK as f64);
                }
                wait += WORK as f64;
            }
        }
        waits.sort_unstable_by(f64::total_cmp);
        let found = waits[waits.len() * 99 / 100];
        let share = |factor: f64| erlang(f64::from(load) / 100.0, found * factor);
        assert!(share(1.1) > 0.99 && share(0.9) < 0.99, "{load} %: {found} tasks");
    }
}

#[test]
fn a_backlog_is_the_loads_fault_or_that_of_others() {
    let plan = Plan::new(50, 1, WORK, 1);
    let cpus = Cpus { generator: Some(1), serving: vec![0] };
    let mut generator = Generator::new(plan, cpus, Window::new(1, 0, false));
    generator.due = (0..8000).map(|k| k * 40_000).collect();
    // Each task ends so many ns later than the one before.
    let ends = |each: u64| (0..8000).map(|k| k * each + WORK).collect::<Vec<u64>>();
    let is_served = |each: u64, own: f64, others: Option<f64>| {
        let used = Used { own, others };
        generator.ensure_served(&ends(each), used).map_err(|e| e.to_string())
    };
    // None grows, nor one in a hundred; tasks took 60 % of the time, others the rest.
    assert_eq!(is_served(40_000, 400e6, None), Ok(()));
    assert_eq!(is_served(40_400, 400e6, None), Ok(()));
    assert_eq!(is_served(50_000, 200e6, Some(120e6)), Ok(()));
    // Nobody else was there, or nobody knows; or the tasks alone are too much.
    for (own, others) in [(200e6, Some(10e6)), (200e6, None), (330e6, Some(120e6))] {
        let error = is_served(50_000, own, others).unwrap_err();
        assert!(
            error.contains("the backlog grew to 1601 of 8000 tasks: a load of 50 %"),
            "{error}"
        );
    }
    // A backlog that has gone, and too few arrivals.
    let gone: Vec<u64> = (0..8000).map(|_| 3000 * 40_000).collect();
    assert_eq!(growing_backlog(&generator.due, &gone), None);
    assert_eq!(growing_backlog(&generator.due[..ENOUGH - 1], &ends(50_000)[..ENOUGH - 1]), None);
    assert_eq!(growing_backlog(&[], &[]), None);
}

/// In a stall nothing starts, but tasks go on arriving. Each that arrives in one has to be at least as late as
/// what is left of the stall, though the generator is stuck meanwhile: times that began with the submission would lose
/// them.
#[test]
fn a_stall_shows_as_often_as_the_schedule_says() {
    // An arrival every 200 µs on average, for 0.8 s: eight stalls with some five arrivals each.
    let plan = Plan::new(50, 1, 100_000, 1);
    let window = Window::new(plan.arrivals(), 10, true);
    let mut generator = Generator::new(plan, Cpus::allowed().unwrap(), window);
    let (submit, submitted) = sync_channel::<Task>(0);
    let server = thread::spawn(move || submitted.into_iter().for_each(Task::run));
    let (mut due, mut rng) = (window.now() as f64, Rng::with_seed(0));
    for _ in 0..4000 {
        due += gap(&mut rng, generator.plan.gap);
        generator.arrive(due as u64, &mut |task| Ok(submit.send(task)?)).unwrap();
    }
    generator.wait_for(4000).unwrap();
    drop(submit);
    server.join().unwrap();

    let left_of_stall = |due: u64| STALL[1].saturating_sub(due % STALL[0]);
    let expected = generator.due.iter().filter(|&&due| left_of_stall(due) > 0).count();
    let latencies = generator.latencies(0).unwrap();
    let late = latencies.iter().zip(&generator.due).filter(|([to_start, _], due)| {
        let left = left_of_stall(**due);
        left > 0 && *to_start >= left
    });
    assert_eq!(late.count(), expected);
    // Forty or so, whenever it begins.
    assert!((10..100).contains(&expected), "{expected}");
}
