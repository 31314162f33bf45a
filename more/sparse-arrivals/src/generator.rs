//! The generator: the timed loop, and what is read off the tasks.

use std::collections::BTreeMap;
use std::hint;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use contract::samples::Recorder;
use contract::{Pass, Run, signals};
use fastrand::Rng;
use nix::sys::prctl::set_timerslack;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;
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

#[derive(Debug)]
pub(crate) struct Generator {
    schedule: Schedule,
    cpus: Cpus,
    window: &'static Window,
    /// A server that is another process.
    pub(crate) server: Option<Pid>,
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
    /// Of this process without the generator's, and of the server's.
    own: f64,
    /// Of all that ran on the CPUs that serve, and what the host took of them, but for these; `None` if the
    /// kernel does not tell.
    others: Option<f64>,
}

impl Generator {
    pub(crate) fn new(schedule: Schedule, cpus: Cpus, window: &'static Window) -> Self {
        let room = || Vec::with_capacity(schedule.arrivals());
        let (arrived, late) = (room(), room());
        Generator { schedule, cpus, window, server: None, arrived, late, submitted: 0 }
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
            sums.0.iter().for_each(|(name, values)| pass.add_extra(name, values));
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
            ensure!(self.server.is_none_or(is_alive), "the server has ended");
            thread::sleep(Duration::from_micros(100));
        }
        Ok(())
    }

    fn used(&self) -> anyhow::Result<Used> {
        let server = self.server.map(clock_getcpuclockid).transpose()?;
        let server = server.map_or(Ok(Duration::ZERO), cpu_time)?;
        let all = (cpu_time(ClockId::CLOCK_PROCESS_CPUTIME_ID)? + server).as_nanos() as f64;
        let own = all - cpu_time(ClockId::CLOCK_THREAD_CPUTIME_ID)?.as_nanos() as f64;
        let here = if self.cpus.generator.is_some() { own } else { all };
        Ok(Used { own, others: self.cpus.busy().map(|busy| busy - here) })
    }

    /// Checks the tasks of a request, and records what they took: of each arrival, until its last task started.
    fn sum_up(
        &self,
        pass: &mut Pass,
        sums: &mut Sums,
        first: u64,
        used: Used,
    ) -> anyhow::Result<()> {
        let tasks = self.window.times(first..self.submitted);
        let tasks: Vec<Times> = tasks.collect::<anyhow::Result<_>>()?;
        let mut ends: Vec<u64> = tasks.iter().map(|task| task.ended).collect();
        ends.sort_unstable();
        self.ensure_served(&ends, used)?;
        let arrivals = self.arrived.iter().zip(&self.late);
        let arrivals = arrivals.zip(tasks.chunks(self.schedule.at_once));
        for ((&due, &late), tasks) in arrivals.skip(self.schedule.lead) {
            pass.record(Duration::from_nanos(start_after(due, tasks)?));
            if !pass.is_timed() {
                continue;
            }
            if self.schedule.load.is_some() {
                sums.record("generator_late", late);
                tasks.iter().for_each(|task| sums.record("in_task", task.ended - task.started));
            } else {
                sums.record("submitted_late", late);
                let end = tasks.iter().map(|task| task.ended).max().unwrap_or(due);
                sums.record("to_end", end - due);
            }
        }
        let (Some(first), Some(last)) = (self.arrived.first(), ends.last()) else { return Ok(()) };
        if pass.is_timed() && self.schedule.load.is_some() {
            let all = (last - first) as f64 * self.cpus.serving.len() as f64;
            let percent = |time: f64| (time / all * 100.0).round() as u64;
            sums.record("cpu_percent", percent(used.own));
            used.others.into_iter().for_each(|time| sums.record("others_percent", percent(time)));
        }
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

/// Distributions of a pass by name.
#[derive(Default)]
struct Sums(BTreeMap<&'static str, Recorder>);

impl Sums {
    fn record(&mut self, name: &'static str, value: u64) {
        self.0.entry(name).or_default().record(value);
    }
}

impl Used {
    fn since(self, before: Used) -> Self {
        let others = self.others.zip(before.others).map(|(now, then)| (now - then).max(0.0));
        Used { own: self.own - before.own, others }
    }
}

/// True until a child ends; it is left to be awaited.
fn is_alive(child: Pid) -> bool {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    waitid(Id::Pid(child), flags) == Ok(WaitStatus::StillAlive)
}

/// Time in ns from an arrival until its last task started.
fn start_after(due: u64, tasks: &[Times]) -> anyhow::Result<u64> {
    ensure!(tasks.iter().all(|task| task.started >= due), "a task started before it had arrived");
    Ok(tasks.iter().map(|task| task.started - due).max().unwrap_or(0))
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
