//! Short tasks that arrive now and then, on threads that are mostly idle.
//!
//! One iteration: at its time of a fixed schedule, one every `--every`, the main thread submits a short
//! task and sleeps until the next is due. With `--tasks N` it submits N at once. A task multiplies
//! `--work` times. It runs on Tokio's workers, or on as many threads that share a queue (`--on`).
//!
//! Timed: from the submission until the task reads the clock, its first instruction; of several tasks,
//! the last one. So a sample is by how much a task starts late: the work is the same on any runtime. The
//! distribution `to_end` is until the last task has multiplied. Left out: the sleep between arrivals, and
//! the check of the products. An arrival whose tasks have not ended when the next is due takes its place.
//!
//! CPU time and switches are those of the whole process from one arrival to the next. One voluntary switch
//! of each iteration is the main thread's own sleep, which no runtime causes.
//!
//! The kernel may wake the main thread late, by the timer slack (50 µs, unless `switchcost stat
//! --timer-slack` or prctl(2) sets another). A sample begins at the submission, not when it was due;
//! `submitted_late` is the difference.
//!
//! Not to be taken for the cost of a task on a busy runtime, where no thread has to be woken, nor for the
//! wake-up alone: after a sleep caches and branch predictors are cold, and the CPU may have to leave an
//! idle state. A thread of the pool looks at the queue for some µs before it sleeps (crossbeam's channel),
//! as Tokio's workers do.

mod schedule;

use std::hint::black_box;
use std::pin::Pin;
use std::process::ExitCode;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use anyhow::ensure;
use blocking::{Bound, Pool};
use clap::{Parser, ValueEnum};
use contract::message::{Claim, Description, Need, Needs};
use contract::samples::Recorder;
use contract::units::Span;
use contract::{Defaults, Flags, Pass, Program, Run};
use runtime::{Flavor, RuntimeFlags, WorkerCounts};
use schedule::Schedule;
use threads::{CpuAssignment, Placement};
use tokio::runtime::Handle;

/// Time how late short tasks start on threads that are mostly idle
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of tasks that arrive at once")))]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    /// Where the tasks run
    #[arg(long, value_enum, default_value = "tokio")]
    on: On,
    /// Threads that run them
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value = "4", value_parser = clap::value_parser!(u32).range(1..=32768))]
    workers: u32,
    /// Time from one arrival to the next, 1us to 1s
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "500us", value_parser = schedule::interval)]
    every: Span,
    /// Multiplications of a task, each of which waits for the one before
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value = "3000", value_parser = clap::value_parser!(u32).range(..=100_000_000))]
    work: u32,
}

/// What runs the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum On {
    /// a Tokio runtime, its multi-thread scheduler with I/O
    Tokio,
    /// OS threads that take jobs from one queue
    Pool,
}

/// Bytes that a thread of the pool holds: its stack as far as it is used, and the kernel's share.
const THREAD_BYTES: u64 = 100 << 10;

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 1, iters: 6000, warmup: 100 };

    fn flags(&self) -> &Flags {
        &self.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        let name = "sparse-arrivals";
        let own = Needs { bytes: Need::new(4 << 20, 1 << 10), ..Needs::default() };
        if self.on == On::Tokio {
            let tasks = Description::new(name, &self.flags, Claim::UserSwitch);
            return self.runtime().describe(Description { needs: own, ..tasks });
        }
        let threads = u64::from(self.workers);
        let pool = Needs {
            threads: Need::new(threads, 0),
            maps: Need::new(threads * 4, 0),
            bytes: Need::new(threads * THREAD_BYTES, 0),
            ..Needs::default()
        };
        let tasks = Description::new(name, &self.flags, Claim::KernelSwitch);
        Ok(Description { needs: own + pool, ..tasks })
    }
}

impl Cli {
    fn runtime(&self) -> RuntimeFlags {
        RuntimeFlags {
            flavor: Flavor::MultiThread,
            workers: Some(self.workers),
            placement: Placement::Free,
        }
    }
}

fn main() -> ExitCode {
    contract::main(measure)
}

fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    match cli.on {
        On::Tokio => {
            let runtime = cli.runtime().build(true)?;
            let spawn = |task: Task| {
                let spawned = runtime.spawn(async move { anyhow::Ok(task.run()) });
                Box::pin(runtime::join(spawned))
            };
            serve(cli, run, spawn, Some(runtime.handle()))
        }
        On::Pool => {
            let pool =
                Pool::start(cli.workers, Bound::Unbounded, &CpuAssignment::new(Placement::Free)?)?;
            let queue = pool.queue();
            let served = serve(cli, run, |task| Box::pin(queue.dispatch(move || task.run())), None);
            drop(queue);
            served.and(pool.join())
        }
    }
}

/// All passes, with tasks that `submit` hands over, at the latest when its future is polled.
fn serve<F: Future<Output = anyhow::Result<Times>>>(
    cli: &Cli,
    run: &mut Run,
    submit: impl Fn(Task) -> Pin<Box<F>>,
    runtime: Option<&Handle>,
) -> anyhow::Result<()> {
    let mut arrivals = Arrivals { product: multiply(cli.work), last: Times::default() };
    while let Some(mut pass) = run.next_pass()? {
        let counts = runtime.filter(|_| pass.is_for_runner()).map(WorkerCounts::now);
        let result = arrivals.arrive(cli, &submit, &mut pass);
        if let Some(counts) = counts {
            counts.add_to(&mut pass.extra);
        }
        run.finish(pass)?;
        result?;
    }
    Ok(())
}

/// A short task.
#[derive(Clone, Copy, Debug)]
struct Task {
    submitted: Instant,
    work: u32,
}

/// Times of a task since its submission, and what it returned.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    started: Duration,
    ended: Duration,
    product: u64,
}

impl Task {
    fn run(self) -> Times {
        let started = self.submitted.elapsed();
        let product = multiply(self.work);
        Times { started, ended: self.submitted.elapsed(), product }
    }
}

/// Multiplies so many times. No compiler finds a shorter way to the same number.
fn multiply(times: u32) -> u64 {
    (0..times).fold(black_box(3), |x: u64, _| x.wrapping_mul(x).wrapping_add(5))
}

/// What is known of an arrival.
struct Arrivals {
    /// What each task must return.
    product: u64,
    /// The latest start and end.
    last: Times,
}

impl Arrivals {
    /// Submits tasks in each iteration, and times how late the last one starts.
    fn arrive<F: Future<Output = anyhow::Result<Times>>>(
        &mut self,
        cli: &Cli,
        submit: impl Fn(Task) -> Pin<Box<F>>,
        pass: &mut Pass,
    ) -> anyhow::Result<()> {
        let (mut to_end, mut late) = (Recorder::default(), Recorder::default());
        let mut pending = Vec::with_capacity(cli.flags.tasks as usize);
        let mut schedule = Schedule::new(cli.every)?;
        let mut submitted_late = schedule.sleep()?;
        while pass.next_iteration().is_some() {
            self.last = Times::default();

            let clock = Instant::now();
            for _ in 0..cli.flags.tasks {
                let mut task = submit(Task { submitted: clock, work: cli.work });
                if !self.has_ended(&mut task)? {
                    pending.push(task);
                }
            }
            let mut next_late = schedule.sleep()?;

            while let Some(task) = pending.last_mut() {
                match self.has_ended(task)? {
                    true => drop(pending.pop()),
                    false => next_late = schedule.sleep()?,
                }
            }
            pass.record(self.last.started);
            if pass.is_timed() {
                to_end.record(self.last.ended.as_nanos() as u64);
                late.record(submitted_late.as_nanos() as u64);
            }
            submitted_late = next_late;
        }
        let named = [("to_end", to_end), ("submitted_late", late)];
        let all = named.map(|(name, times)| Some((name.to_owned(), times.distribution()?)));
        pass.extra.extend(all.into_iter().flatten());
        Ok(())
    }

    /// Takes the times of a task that has ended. One that has not will wake nobody.
    fn has_ended<F: Future<Output = anyhow::Result<Times>>>(
        &mut self,
        task: &mut Pin<Box<F>>,
    ) -> anyhow::Result<bool> {
        let Poll::Ready(times) = task.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
            return Ok(false);
        };
        let Times { started, ended, product } = times?;
        ensure!(product == self.product, "a task returned {product}, expected {}", self.product);
        self.last.started = self.last.started.max(started);
        self.last.ended = self.last.ended.max(ended);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_takes_each_multiplication() {
        // 3² + 5 = 14, 14² + 5 = 201.
        assert_eq!([0, 1, 2].map(multiply), [3, 14, 201]);
    }
}
