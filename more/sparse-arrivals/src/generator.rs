//! The generator: the timed loop, and what is read off the tasks.

use std::hint;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use contract::samples::Recorder;
use contract::{Pass, Run, signals};
use fastrand::Rng;
use nix::sys::prctl::set_timerslack;
use nix::time::ClockId;
use threads::restrict;

use crate::cpus::Cpus;
use crate::schedule::Schedule;
use crate::window::{Task, Times, Window};
use crate::work::cpu_time;

/// Time after which a task is lost.
const LONGEST: Duration = Duration::from_secs(60);

/// Fewest arrivals of a request that tell whether the backlog grows.
const ENOUGH: usize = 5000;

/// Share of the tasks that wait or run, one of so many, if the backlog grows.
const GROWING: usize = 25;

/// Share of the CPUs' time, used by others or taken by the host, from which a backlog may be theirs.
const OTHERS: f64 = 0.1;

/// The side that submits the tasks.
#[derive(Debug)]
pub(crate) struct Generator {
    schedule: Schedule,
    cpus: Cpus,
    window: &'static Window,
    /// Times from which the arrivals of a request count, in ns since the epoch: the schedule's under a load, else
    /// those of the submission.
    arrived: Vec<u64>,
    /// How late the generator was at each, in ns.
    late: Vec<u64>,
    /// Tasks of all requests.
    submitted: u64,
}

/// CPU time since the start, in ns.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    /// Of this process, without the generator's.
    own: f64,
    /// Of all that ran on the CPUs that serve, and what the host took of them, but for this process's; `None` if the
    /// kernel does not tell.
    others: Option<f64>,
}

impl Generator {
    pub(crate) fn new(schedule: Schedule, cpus: Cpus, window: &'static Window) -> Self {
        let room = || Vec::with_capacity(schedule.arrivals());
        Generator { schedule, cpus, window, arrived: room(), late: room(), submitted: 0 }
    }

    /// All passes, on the generator's own CPU; what serves was started before.
    pub(crate) fn generate(
        mut self,
        run: &mut Run,
        mut submit: impl FnMut(Task) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        match self.cpus.generator {
            Some(cpu) => restrict(&[cpu])?,
            // It sleeps until the next arrival, and what it is late counts.
            None if self.schedule.load.is_some() => set_timerslack(1)?,
            None => {}
        }
        // Each process has other arrivals: the interval over processes holds what chance does to a tail.
        let mut rng = Rng::new();
        while let Some(mut pass) = run.next_pass()? {
            let mut sums = Sums::default();
            while pass.left() > 0 && signals::received().is_none() {
                self.serve(&mut pass, &mut rng, &mut sums, &mut submit)?;
            }
            // None is left: the usage ends when all tasks have.
            let _ = pass.next_iteration();
            sums.add_to(&mut pass);
            run.finish(pass)?;
        }
        Ok(())
    }

    /// As many arrivals as there is room for, with the queue never emptied between them: all that a runner asks for at
    /// once.
    fn serve(
        &mut self,
        pass: &mut Pass,
        rng: &mut Rng,
        sums: &mut Sums,
        submit: &mut impl FnMut(Task) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.arrived.clear();
        self.late.clear();
        let (first, before) = (self.submitted, self.used()?);
        let mut due = self.window.now() as f64;
        // The queue starts empty: until it is as long as it will be, arrivals do not count.
        while self.arrived.len() < self.schedule.lead && signals::received().is_none() {
            due = self.schedule.next(rng, due, self.window.now());
            self.arrive(due as u64, submit)?;
        }
        let room = self.schedule.arrivals();
        while pass.left() > 0 && self.arrived.len() < room && pass.next_iteration().is_some() {
            due = self.schedule.next(rng, due, self.window.now());
            self.arrive(due as u64, submit)?;
        }
        self.wait_for(self.submitted)?;
        let used = self.used()?.since(before);
        self.sum_up(pass, sums, first, used)
    }

    /// Submits the tasks of an arrival when it is due.
    fn arrive(
        &mut self,
        due: u64,
        submit: &mut impl FnMut(Task) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        self.wait_until(due);
        // Whatever waits here is late from its scheduled arrival on, as it would be in the queue.
        self.wait_for(self.submitted.saturating_sub(self.schedule.room))?;
        let now = self.window.now();
        self.arrived.push(if self.schedule.load.is_some() { due } else { now });
        self.late.push(now - due);
        for _ in 0..self.schedule.at_once {
            submit(self.window.task(self.submitted))?;
            self.submitted += 1;
        }
        Ok(())
    }

    fn wait_until(&self, due: u64) {
        loop {
            let now = self.window.now();
            if now >= due {
                return;
            }
            match self.cpus.generator {
                Some(_) => hint::spin_loop(),
                None => thread::sleep(Duration::from_nanos(due - now)),
            }
        }
    }

    /// Waits until so many tasks have ended.
    fn wait_for(&self, tasks: u64) -> anyhow::Result<()> {
        let begun = Instant::now();
        while self.window.ended()? < tasks {
            ensure!(begun.elapsed() < LONGEST, "a task has not ended in {LONGEST:?}");
            thread::sleep(Duration::from_micros(100));
        }
        Ok(())
    }

    fn used(&self) -> anyhow::Result<Used> {
        let all = cpu_time(ClockId::CLOCK_PROCESS_CPUTIME_ID)?.as_nanos() as f64;
        let own = all - cpu_time(ClockId::CLOCK_THREAD_CPUTIME_ID)?.as_nanos() as f64;
        let here = if self.cpus.generator.is_some() { own } else { all };
        Ok(Used { own, others: self.cpus.busy().map(|busy| busy - here) })
    }

    /// Times of the tasks from `first` on from their scheduled arrival to the start and to the end.
    fn latencies(&self, first: u64) -> anyhow::Result<Vec<[u64; 2]>> {
        let times = self.window.times(first..self.submitted).enumerate();
        let latency = |(k, times): (usize, anyhow::Result<Times>)| {
            let (Times { started, ended }, due) = (times?, self.arrived[k / self.schedule.at_once]);
            ensure!(started >= due, "task {k} started before it had arrived");
            Ok([started - due, ended - due])
        };
        times.map(latency).collect()
    }

    /// Checks the tasks of a request, and records what they took: of each arrival, until its last task started.
    fn sum_up(
        &self,
        pass: &mut Pass,
        sums: &mut Sums,
        first: u64,
        used: Used,
    ) -> anyhow::Result<()> {
        let tasks = self.latencies(first)?;
        let each = self.arrived.iter().zip(tasks.chunks(self.schedule.at_once));
        let ends =
            each.clone().flat_map(|(due, tasks)| tasks.iter().map(move |[_, end]| due + end));
        let mut ends: Vec<u64> = ends.collect();
        ends.sort_unstable();
        self.ensure_served(&ends, used)?;
        let lead = self.schedule.lead.min(self.arrived.len());
        for (_, tasks) in each.skip(lead) {
            let start = tasks.iter().map(|[start, _]| *start).max();
            pass.record(Duration::from_nanos(start.unwrap_or(0)));
        }
        if !pass.is_timed() {
            return Ok(());
        }
        if self.schedule.load.is_none() {
            let to_end = tasks
                .chunks(self.schedule.at_once)
                .flat_map(|tasks| tasks.iter().map(|[_, end]| *end).max());
            to_end.for_each(|ns| sums.to_end.record(ns));
            self.late.iter().for_each(|&ns| sums.submitted_late.record(ns));
            return Ok(());
        }
        let (Some(first), Some(last)) = (self.arrived.first(), ends.last()) else { return Ok(()) };
        let all = (last - first) as f64 * self.cpus.serving.len() as f64;
        let percent = |time: f64| (time / all * 100.0).round() as u64;
        let counted = &tasks[lead * self.schedule.at_once..];
        counted.iter().for_each(|[start, end]| sums.in_task.record(end - start));
        self.late[lead..].iter().for_each(|&ns| sums.generator_late.record(ns));
        sums.cpu_percent.record(percent(used.own));
        used.others.into_iter().for_each(|others| sums.others_percent.record(percent(others)));
        Ok(())
    }

    /// Refuses a load that cannot be served; `ends` are in order. A backlog that is others' fault passes: tasks do
    /// start so late beside them.
    fn ensure_served(&self, ends: &[u64], used: Used) -> anyhow::Result<()> {
        let Some(load) = self.schedule.load else { return Ok(()) };
        let Some(backlog) = growing_backlog(&self.arrived, ends) else { return Ok(()) };
        let span = self.arrived.last().unwrap_or(&0) - self.arrived.first().unwrap_or(&0);
        let all = span as f64 * self.cpus.serving.len() as f64;
        if used.own < all && used.others.is_some_and(|others| others > OTHERS * all) {
            return Ok(());
        }
        bail!(
            "the backlog grew to {backlog} of {} tasks: a load of {load} %, and what it costs to serve it, is more than \
             the CPUs can do: lower --load",
            ends.len(),
        );
    }
}

/// Distributions of a pass.
#[derive(Default)]
struct Sums {
    to_end: Recorder,
    submitted_late: Recorder,
    in_task: Recorder,
    generator_late: Recorder,
    cpu_percent: Recorder,
    others_percent: Recorder,
}

impl Sums {
    fn add_to(&self, pass: &mut Pass) {
        pass.add_extra("to_end", &self.to_end);
        pass.add_extra("submitted_late", &self.submitted_late);
        pass.add_extra("in_task", &self.in_task);
        pass.add_extra("generator_late", &self.generator_late);
        pass.add_extra("cpu_percent", &self.cpu_percent);
        pass.add_extra("others_percent", &self.others_percent);
    }
}

impl Used {
    fn since(self, before: Used) -> Self {
        let others = self.others.zip(before.others).map(|(now, then)| (now - then).max(0.0));
        Used { own: self.own - before.own, others }
    }
}

/// Tasks that wait or run when the last one arrives, if more than one of so many do at each quarter of the arrivals.
fn growing_backlog(due: &[u64], ends: &[u64]) -> Option<usize> {
    let at_once = ends.len() / due.len().max(1);
    let backlogs = (1..=4).map(|quarter| {
        let arrived = due.len() * quarter / 4;
        let ended = ends.partition_point(|&end| end <= due[arrived - 1]);
        let backlog = arrived * at_once - ended.min(arrived * at_once);
        (backlog * GROWING > arrived * at_once).then_some(backlog)
    });
    if due.len() < ENOUGH {
        return None;
    }
    backlogs.collect::<Option<Vec<usize>>>()?.pop()
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
