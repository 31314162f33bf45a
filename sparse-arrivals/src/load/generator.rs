//! The generator: a schedule that waits for no task, the windows, and what is read off them.

use std::hint;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use contract::samples::Recorder;
use contract::{Pass, Run, signals};
use fastrand::Rng;
use nix::sys::prctl::set_timerslack;
use nix::time::ClockId;

use super::cpus::{Cpus, restrict};
use super::window::{Task, Times, Window};
use super::{LEAD, Plan};
use crate::LONGEST;
use crate::work::cpu_time;

/// Fewest arrivals of a window whose backlog tells whether it grows.
const ENOUGH: usize = 200;

/// Share of the tasks of a window that wait or run, one of so many, at each of its quarters, if it grows.
const GROWING: u64 = 25;

/// Windows in a row whose backlog grows that end a run: in one, others may have used the CPUs.
const GROWN: u32 = 5;

/// An open loop.
#[derive(Debug)]
pub(super) struct Generator {
    plan: Plan,
    cpus: Cpus,
    window: &'static Window,
    /// Times of the arrivals of a window, in ns from its beginning, and then since the epoch.
    due: Vec<u64>,
    /// How late the generator was at each, in ns.
    late: Vec<u64>,
    /// Tasks of all windows.
    submitted: u64,
    /// Windows in a row in which the backlog grew.
    grown: u32,
}

impl Generator {
    pub(super) fn new(plan: Plan, cpus: Cpus, window: &'static Window) -> Self {
        let zeros = || vec![0; plan.arrivals];
        Generator { plan, cpus, window, due: zeros(), late: zeros(), submitted: 0, grown: 0 }
    }

    /// All passes, on the generator's own CPU; what serves was started before.
    pub(super) fn generate(
        mut self,
        run: &mut Run,
        mut submit: impl FnMut(Task) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        match self.cpus.generator {
            Some(cpu) => restrict(&[cpu])?,
            // It sleeps until the next arrival.
            None => set_timerslack(1)?,
        }
        while let Some(mut pass) = run.next_pass()? {
            let mut sums = Sums::default();
            while let Some(iteration) = pass.next_iteration() {
                draw(iteration, self.plan.gap, &mut self.due);
                let (used, begun) = (self.used()?, self.window.now());
                if !self.arrive(begun, &mut submit)? {
                    continue;
                }
                self.drain()?;
                let used = self.used()?.saturating_sub(used);
                let late = self.sum_up(&mut pass, &mut sums, begun, used)?;
                pass.record(late);
            }
            sums.add_to(&mut pass);
            run.finish(pass)?;
        }
        Ok(())
    }

    /// One window: submits each task when it is due. False if a signal ends it.
    fn arrive(
        &mut self,
        begun: u64,
        submit: &mut impl FnMut(Task) -> anyhow::Result<()>,
    ) -> anyhow::Result<bool> {
        let (first, quarter) = (self.submitted, self.due.len().div_ceil(4));
        let mut is_growing = self.due.len() >= ENOUGH;
        for k in 0..self.due.len() {
            let due = begun + self.due[k];
            self.due[k] = due;
            self.late[k] = self.wait_until(due) - due;
            for _ in 0..self.plan.at_once {
                submit(self.window.task(self.submitted))?;
                self.submitted += 1;
            }
            let backlog = self.submitted - self.window.ended()?;
            if backlog > self.plan.limit {
                bail!("the backlog passed {} tasks: {}", self.plan.limit, self.plan.too_much());
            }
            if (k + 1) % quarter == 0 {
                is_growing &= backlog * GROWING > self.submitted - first;
            }
            if signals::received().is_some() {
                return Ok(false);
            }
        }
        self.grown = if is_growing { self.grown + 1 } else { 0 };
        if self.grown >= GROWN {
            let backlog = self.submitted - self.window.ended()?;
            let tasks = self.window.len();
            bail!("the backlog grew to {backlog} of {tasks} tasks: {}", self.plan.too_much());
        }
        Ok(true)
    }

    /// Waits until a task is due, and returns what time it is then.
    fn wait_until(&self, due: u64) -> u64 {
        loop {
            let now = self.window.now();
            if now >= due {
                return now;
            }
            match self.cpus.generator {
                Some(_) => hint::spin_loop(),
                None => thread::sleep(Duration::from_nanos(due - now)),
            }
        }
    }

    /// Waits until all tasks have ended.
    fn drain(&self) -> anyhow::Result<()> {
        let begun = Instant::now();
        while self.window.ended()? < self.submitted {
            ensure!(begun.elapsed() < LONGEST, "a task has not ended in {LONGEST:?}");
            thread::sleep(Duration::from_micros(100));
        }
        Ok(())
    }

    /// CPU time of this process, without the generator's.
    fn used(&self) -> anyhow::Result<Duration> {
        let all = cpu_time(ClockId::CLOCK_PROCESS_CPUTIME_ID)?;
        Ok(all.saturating_sub(cpu_time(ClockId::CLOCK_THREAD_CPUTIME_ID)?))
    }

    /// Times of a window's tasks from their scheduled arrival to the start and to the end.
    fn latencies(&self) -> impl Iterator<Item = anyhow::Result<[u64; 2]>> {
        self.window.times().enumerate().map(|(place, times)| {
            let (Times { started, ended }, due) = (times?, self.due[place / self.plan.at_once]);
            ensure!(started >= due, "task {place} started before it had arrived");
            Ok([started - due, ended - due])
        })
    }

    /// Checks the tasks of a window, adds what they took, and returns the sample: the 99th percentile from
    /// the scheduled arrival to the start.
    fn sum_up(
        &self,
        pass: &mut Pass,
        sums: &mut Sums,
        begun: u64,
        used: Duration,
    ) -> anyhow::Result<Duration> {
        let lead = self.due.len() / LEAD;
        let tasks = (self.due.len() - lead) * self.plan.at_once;
        let (mut to_start, mut to_end) = (Vec::with_capacity(tasks), Vec::with_capacity(tasks));
        let mut last = begun;
        for (place, latency) in self.latencies().enumerate() {
            let ([start, end], arrival) = (latency?, place / self.plan.at_once);
            last = last.max(self.due[arrival] + end);
            if arrival >= lead {
                to_start.push(start);
                to_end.push(end);
                if pass.is_timed() {
                    sums.in_task.record(end - start);
                }
            }
        }
        to_start.sort_unstable();
        to_end.sort_unstable();
        if pass.is_timed() {
            to_start.iter().for_each(|&ns| sums.to_start.record(ns));
            to_end.iter().for_each(|&ns| sums.to_end.record(ns));
            sums.to_start_p999.record(permille(&to_start, 999));
            sums.to_end_p999.record(permille(&to_end, 999));
            self.late[lead..].iter().for_each(|&ns| sums.generator_late.record(ns));
            let wall = (last - begun) as f64 * self.cpus.serving.len() as f64;
            sums.cpu_percent.record((used.as_nanos() as f64 / wall * 100.0).round() as u64);
        }
        Ok(Duration::from_nanos(permille(&to_start, 990)))
    }
}

/// Draws the arrivals of a window, in ns from its beginning: exponential gaps, the same for the same number of
/// it, scaled so that each window has exactly the load that was asked for.
fn draw(window: u64, gap: f64, due: &mut [u64]) {
    let mut rng = Rng::with_seed(window.wrapping_add(1));
    let mut gaps = || -(1.0 - rng.f64()).ln();
    let drawn: Vec<f64> = (0..due.len()).map(|_| gaps()).collect();
    let scale = gap * due.len() as f64 / drawn.iter().sum::<f64>();
    let mut at = 0.0;
    for (due, gap) in due.iter_mut().zip(drawn) {
        at += gap * scale;
        *due = at as u64;
    }
}

/// A percentile of sorted samples in parts per thousand, by nearest rank; 0 if there are none.
fn permille(sorted: &[u64], part: usize) -> u64 {
    let rank = (sorted.len() * part).div_ceil(1000).max(1);
    sorted.get(rank - 1).copied().unwrap_or(0)
}

/// Distributions of a pass.
#[derive(Default)]
struct Sums {
    to_start: Recorder,
    to_end: Recorder,
    to_start_p999: Recorder,
    to_end_p999: Recorder,
    in_task: Recorder,
    generator_late: Recorder,
    cpu_percent: Recorder,
}

impl Sums {
    fn add_to(&self, pass: &mut Pass) {
        for (name, samples) in [
            ("to_start", &self.to_start),
            ("to_end", &self.to_end),
            ("to_start_p999", &self.to_start_p999),
            ("to_end_p999", &self.to_end_p999),
            ("in_task", &self.in_task),
            ("generator_late", &self.generator_late),
            ("cpu_percent", &self.cpu_percent),
        ] {
            pass.add_extra(name, samples);
        }
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
