//! The schedule of the arrivals.

use contract::message::MOST_SAMPLES;
use contract::units::Span;
use fastrand::Rng;

/// Arrivals before those that count: so many, divided by the square of the idle share. The relaxation time of M/M/1 is
/// about four times the time of a task, divided by that square; this is five of them, for a load to which the cost of
/// serving adds half of what is idle. At most as many as a request has.
const LEAD: f64 = 80.0;

/// Work that waits at most, in ns for each CPU that serves, and in tasks at least.
const ROOM: (u64, u64) = (100_000_000, 200);

/// Arrivals at an interval whose tasks are looked at together.
const TOGETHER: usize = 1000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Schedule {
    /// In per cent; `None` at an interval.
    pub(crate) load: Option<u32>,
    /// Time from one arrival to the next in ns, of a load on average.
    pub(crate) gap: f64,
    pub(crate) at_once: usize,
    /// Arrivals of a request before those that count.
    pub(crate) lead: usize,
    /// Most tasks that wait or run.
    pub(crate) room: u64,
}

pub(crate) fn interval(text: &str) -> Result<Span, String> {
    match text.parse()? {
        Span(ns) if ns < 1000 => Err("1us at least: arrivals would be one stream".to_owned()),
        Span(ns) if ns > 1_000_000_000 => Err("1s at most: nothing interrupts a sleep".to_owned()),
        span => Ok(span),
    }
}

impl Schedule {
    /// Tasks of so much work, at a load of so many CPUs.
    pub(crate) fn of_load(load: u32, at_once: u32, Span(work): Span, cpus: usize) -> Self {
        let (cpus, each) = (cpus as u64, u64::from(at_once));
        let idle = (1.0 - f64::from(load) / 100.0).max(0.0);
        Schedule {
            load: Some(load),
            gap: (work * each) as f64 * 100.0 / (f64::from(load) * cpus as f64),
            at_once: at_once as usize,
            lead: (LEAD / idle.powi(2)).min(MOST_SAMPLES as f64) as usize,
            room: cpus * (ROOM.0 / work).max(ROOM.1),
        }
    }

    /// Tasks at an interval; those of an arrival have started before the next one.
    pub(crate) fn at_interval(Span(every): Span, at_once: u32) -> Self {
        Schedule { load: None, gap: every as f64, at_once: at_once as usize, lead: 0, room: 0 }
    }

    /// Most arrivals whose tasks are looked at together.
    pub(crate) fn arrivals(&self) -> usize {
        if self.load.is_some() { self.lead + MOST_SAMPLES as usize } else { TOGETHER }
    }

    /// Time of the next arrival in ns, after one at `due`. Under a load gaps are exponential. At an interval those
    /// that are over by `now` are left out.
    pub(crate) fn next(&self, rng: &mut Rng, due: f64, now: u64) -> f64 {
        if self.load.is_some() {
            return due - (1.0 - rng.f64()).ln() * self.gap;
        }
        let missed = ((now as f64 - due) / self.gap).floor().max(0.0);
        due + (missed + 1.0) * self.gap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_follows_the_load() {
        // 20 µs of work at 50 % of one CPU: an arrival every 40 µs; 100 ms of work are 5000 tasks.
        let work = Span(20_000);
        let schedule = Schedule::of_load(50, 1, work, 1);
        assert_eq!((schedule.gap, schedule.lead, schedule.room), (40_000.0, 320, 5000));
        // Two at once on four CPUs.
        let schedule = Schedule::of_load(80, 2, work, 4);
        assert_eq!((schedule.gap, schedule.room), (12_500.0, 20_000));
        let leads = [95, 100, 1000].map(|load| Schedule::of_load(load, 1, work, 1).lead);
        assert_eq!(leads, [10_000; 3]);
    }

    #[test]
    fn arrivals_at_an_interval_that_were_missed_are_left_out() {
        let schedule = Schedule { gap: 10.0, ..Schedule::at_interval(Span(1000), 1) };
        for (now, next) in [(90, 110.0), (100, 110.0), (109, 110.0), (111, 120.0), (155, 160.0)] {
            assert_eq!(schedule.next(&mut Rng::new(), 100.0, now), next, "{now}");
        }
    }

    /// Share of the tasks that wait for `t` at most in M/D/1, by Erlang's formula (Theory of probabilities and
    /// telephone conversations, 1909); times are in times of a task.
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
        const WORK: f64 = 20_000.0;
        let mut rng = Rng::with_seed(1);
        for load in [50, 70, 90] {
            let schedule = Schedule::of_load(load, 1, Span(WORK as u64), 1);
            let mut waits: Vec<f64> = Vec::new();
            for _ in 0..60 {
                // Lindley's recursion, from an empty queue.
                let mut wait = 0.0_f64;
                for k in 0..schedule.arrivals() {
                    wait = (wait - schedule.next(&mut rng, 0.0, 0)).max(0.0);
                    if k >= schedule.lead {
                        waits.push(wait / WORK);
                    }
                    wait += WORK;
                }
            }
            waits.sort_unstable_by(f64::total_cmp);
            let found = waits[waits.len() * 99 / 100];
            let share = |factor: f64| erlang(f64::from(load) / 100.0, found * factor);
            assert!(share(1.1) > 0.99 && share(0.9) < 0.99, "{load} %: {found} tasks");
        }
    }
}
