use std::sync::mpsc::sync_channel;

use super::super::window::STALL;
use super::*;

/// Mean gap of a schedule, in ns.
const GAP: f64 = 1000.0;

fn schedule(window: u64) -> Vec<u64> {
    let mut due = vec![0; 100_000];
    draw(window, GAP, &mut due);
    due
}

#[test]
fn a_schedule_has_its_load_and_exponential_gaps() {
    let due = schedule(3);
    assert!((due.last().unwrap().abs_diff(100_000_000)) <= 1, "{:?}", due.last());
    let gaps: Vec<u64> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // Of exponential gaps a share of exp(-x) is longer than x times the mean: 0.3679, 0.0498.
    for (times, share) in [(1, 0.3679), (3, 0.0498)] {
        let longer = gaps.iter().filter(|&&gap| gap > times * GAP as u64).count();
        assert!((longer as f64 / gaps.len() as f64 - share).abs() < 0.005, "{times}: {longer}");
    }
    // No gap tells of the next one: the mean of products is the square of the mean.
    let products = gaps.windows(2).map(|pair| pair[0] as f64 * pair[1] as f64).sum::<f64>();
    let mean = products / (gaps.len() - 1) as f64;
    assert!((mean / (GAP * GAP) - 1.0).abs() < 0.03, "{mean}");
}

#[test]
fn a_window_has_the_same_schedule_in_each_run_and_no_other_window_has_it() {
    assert_eq!(schedule(7), schedule(7));
    assert_ne!(schedule(7), schedule(8));
}

#[test]
fn percentiles_are_by_nearest_rank() {
    let sorted: Vec<u64> = (1..=2000).collect();
    assert_eq!((permille(&sorted, 990), permille(&sorted, 999)), (1980, 1998));
    assert_eq!((permille(&[5, 9], 990), permille(&[5], 1), permille(&[], 990)), (9, 5, 0));
}

#[test]
fn the_size_of_windows_follows_the_load() {
    // 20 µs of work at 50 % of one CPU: an arrival every 40 µs; 100 ms of work are 5000 tasks.
    let plan = Plan::new(50, 5000, 1, 20_000, 1);
    assert_eq!((plan.gap, plan.arrivals, plan.limit), (40_000.0, 5000, 5001));
    // Two at once on four CPUs.
    let plan = Plan::new(80, 5000, 2, 20_000, 4);
    assert_eq!((plan.gap, plan.limit), (12_500.0, 20_002));
    // At 150 % a third of the arrivals stays: 5001 of 15003, and half as much again.
    assert_eq!(Plan::new(150, 5000, 1, 20_000, 1).arrivals, 22_505);
    assert!(Plan::new(101, 1, 1, 1_000_000, 1).check().is_ok());
}

#[test]
fn a_window_that_takes_too_long_is_refused_with_the_largest_that_fits() {
    // An arrival every 100 ms.
    let plan = |arrivals| Plan::new(1, arrivals, 1, 1_000_000, 1);
    let error = plan(601).check().unwrap_err().to_string();
    assert!(error.contains("--arrivals 601") && error.contains("at most 600 fit"), "{error}");
    plan(600).check().unwrap();
}

#[test]
fn a_backlog_that_grows_through_five_windows_ends_the_run() {
    let plan = Plan { limit: u64::MAX, ..Plan::new(100, 2000, 1, 1000, 1) };
    let window = Window::new(plan.arrivals, 0, false);
    let mut generator = Generator::new(plan, Cpus::allowed().unwrap(), window);
    // All tasks of a window run, or none does.
    let mut arrive = |is_served: bool| {
        let submit = |task: Task| {
            if is_served {
                task.run();
            }
            Ok(())
        };
        generator.due.fill(0);
        let arrived = generator.arrive(window.now(), &mut { submit });
        // Those that did not run are not waited for.
        generator.submitted = window.ended().unwrap();
        arrived
    };
    for is_served in [false, true, false, false, false, false] {
        assert!(arrive(is_served).unwrap());
    }
    let error = arrive(false).unwrap_err().to_string();
    assert!(error.contains("the backlog grew to 2000 of 2000 tasks"), "{error}");
}

/// In a stall nothing starts, but tasks go on arriving. Each that arrives in one has to be at least as late as
/// what is left of the stall, though the generator is stuck meanwhile: times that began with the submission would lose
/// them.
#[test]
fn a_stall_shows_as_often_as_the_schedule_says() {
    // An arrival every 200 µs on average, for 0.8 s: eight stalls with some five arrivals each.
    let plan = Plan::new(50, 4000, 1, 100_000, 1);
    let window = Window::new(plan.arrivals, 10, true);
    let cpus = Cpus::allowed().unwrap();
    let mut generator = Generator::new(plan, cpus, window);
    draw(0, generator.plan.gap, &mut generator.due);
    let (submit, submitted) = sync_channel::<Task>(0);
    let server = thread::spawn(move || submitted.into_iter().for_each(Task::run));
    let begun = window.now();
    let drawn = generator.due.clone();
    assert!(generator.arrive(begun, &mut |task| Ok(submit.send(task)?)).unwrap());
    generator.drain().unwrap();
    drop(submit);
    server.join().unwrap();

    let left_of_stall = |due: u64| STALL[1].saturating_sub(due % STALL[0]);
    let expected = drawn.iter().filter(|&&offset| left_of_stall(begun + offset) > 0).count();
    let latencies = generator.latencies().map(Result::unwrap);
    let late = latencies.zip(&drawn).filter(|([to_start, _], offset)| {
        let left = left_of_stall(begun + **offset);
        left > 0 && *to_start >= left
    });
    assert_eq!(late.count(), expected);
    // Forty or so, whenever it begins.
    assert!((10..100).contains(&expected), "{expected}");
}
