use contract::units::Span;

use super::*;

const WORK: u64 = 20_000;

#[test]
fn a_backlog_is_the_loads_fault_or_that_of_others() {
    let schedule = Schedule::of_load(50, 1, Span(WORK), 1);
    let cpus = Cpus { generator: Some(1), serving: vec![0] };
    let mut generator = Generator::new(schedule, cpus, Window::new(1, 0).unwrap());
    generator.arrived = (0..8000).map(|k| k * 40_000).collect();
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
    let arrived = &generator.arrived;
    assert_eq!(growing_backlog(arrived, &gone), None);
    assert_eq!(growing_backlog(&arrived[..ENOUGH - 1], &ends(50_000)[..ENOUGH - 1]), None);
    assert_eq!(growing_backlog(&[], &[]), None);
}

/// The generator is stuck for 20 ms. Each task that is due meanwhile has to be at least as late as what is left of
/// them: times that began with the submission would lose them.
#[test]
fn a_stall_shows_in_all_that_arrive_in_it() {
    let schedule = Schedule::of_load(50, 1, Span(WORK), 1);
    let window = Window::new(schedule.arrivals(), 10).unwrap();
    let mut generator = Generator::new(schedule, Cpus::new(false).unwrap(), window);
    let begun = window.now();
    let due = |k: u64| begun + k * 100_000;
    thread::sleep(Duration::from_millis(20));
    let over = window.now();
    for k in 0..100 {
        let run = &mut |task: Task| {
            task.run();
            Ok(())
        };
        generator.arrive(due(k), run).unwrap();
    }
    for (k, task) in (0..100).zip(window.times(0..100)) {
        let late = start_after(generator.arrived[k as usize], &[task.unwrap()]).unwrap();
        assert!(late >= over - due(k), "{k}: {late}");
    }
}
