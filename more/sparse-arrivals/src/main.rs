//! Short tasks that arrive, on threads that are mostly idle or under a load, by a schedule that waits for none
//! of them.
//!
//! One iteration is one arrival, of `--tasks` tasks at once. A task multiplies for `--work` of CPU time, by a
//! calibration at the start. The main thread is the generator: it sleeps or spins until the next arrival is
//! due, and submits it to what `--on` names.
//!
//! - `--every TIME`: at a fixed interval. The generator sleeps, on any CPU. A sample is the time from the
//!   *submission* to the first instruction of the task, of several the last one: by how much it starts late, the
//!   work is the same everywhere. `to_end` is until the last one has multiplied, `submitted_late` by how much the
//!   generator woke late (by the timer slack, 50 µs unless `switchcost stat --timer-slack` or prctl(2) sets
//!   another). Arrivals that were due meanwhile are left out. One voluntary switch of each iteration is the
//!   generator's own sleep, which no runtime causes.
//! - `--load PERCENT`: after exponential gaps, so that the work is so much of the CPUs that serve. If this process
//!   may use two CPUs or more, the last one is the generator's own: it spins there, and all other threads are kept
//!   from it. A sample is the time from the *scheduled* arrival: what is late makes all that wait late, and nothing is
//!   left out (no coordinated omission). The queue is never emptied within a request, however many iterations that
//!   has; before them come arrivals that do not count, until the queue is as long as it will be. The arrivals of any
//!   two processes differ. Percentiles are the runner's, of all samples of a process. `in_task` is from the start to
//!   the end of a task, `generator_late` by how much the generator was late, the submission of earlier tasks
//!   included: what it is late, a sample is late too. It submits nothing while 100 ms of work wait. Values for each
//!   request, in per cent of the CPUs that serve: `cpu_percent`, the CPU time of all threads but the generator's;
//!   `others_percent`, that of other programs and what the host took. A load that what serves cannot do, its own cost
//!   included, is an error: tasks start later and later to the end. Beside others that use the CPUs it is none, unless
//!   the tasks alone take more CPU time than there is: they do start so late.
//!
//! With `--server` the main thread writes a byte for each task into a pipe, and the tasks run in another process:
//! goroutines, as Tokio's tasks do by `--on tokio`. With `--runtime` as its only word such a program prints the name of
//! its runtime, flavor and version, with a space between them, and ends.
//!
//! CPU time and switches are those of the whole process, the generator included. Left out: the check of the products.
//!
//! Not to be taken for a network server: an arrival is a store, a system call or a byte in a pipe. At a low rate it is
//! not the wake-up alone: after a sleep caches and branch predictors are cold, and the CPU may have to leave an idle
//! state. A thread of the pool looks at the queue for some µs before it sleeps (crossbeam's channel), as Tokio's
//! workers do. A CPU whose hyperthread neighbour is the generator's is slower than others.

mod cpus;
mod generator;
mod outside;
mod schedule;
mod servers;
mod window;
mod work;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use blocking::{Bound, Pool};
use clap::builder::ArgPredicate::IsPresent;
use clap::{Parser, ValueEnum};
use contract::message::{Claim, Description, Need, Needs, PassKind};
use contract::units::Span;
use contract::{BadUsage, Defaults, Flags, Program, Run};
use runtime::RuntimeFlags;
use threads::{restrict, worker_needs};

use cpus::Cpus;
use generator::Generator;
use schedule::Schedule;
use window::Window;

/// Time how late short tasks start, on threads that are mostly idle or under a load
#[derive(Parser)]
#[command(
    mut_arg("tasks", |arg| arg.help("Number of tasks that arrive at once")),
    mut_arg("iters", |arg| arg.default_value_if("load", IsPresent, "20000")),
    mut_arg("warmup", |arg| arg.default_value_if("load", IsPresent, "1"))
)]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    /// Where the tasks run
    #[arg(long, value_enum, default_value = "tokio")]
    on: On,
    /// Program that runs them in a process of its own, such as `goroutine-server` of peers/go
    #[arg(long, value_name = "PATH", conflicts_with = "on")]
    server: Option<PathBuf>,
    /// Threads that run them [default: 4; with --load one for each CPU that serves]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=32768))]
    workers: Option<u32>,
    /// Time from one arrival to the next, 1us to 1s
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "500us", value_parser = schedule::interval)]
    every: Span,
    /// Work that arrives, in per cent of the CPUs that serve: the tasks arrive at random
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "every")]
    load: Option<u32>,
    /// CPU time of a task, 1us to 1ms
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "3us", default_value_if("load", IsPresent, "20us"), value_parser = work::time)]
    work: Span,
}

/// Executor of the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum On {
    /// Tokio's multi-thread scheduler: a task that a pipe wakes spawns them
    Tokio,
    /// the same scheduler: the main thread, outside the runtime, spawns them
    TokioOutside,
    /// a current-thread runtime on each CPU that serves, in turn
    TokioPerCpu,
    /// OS threads that take jobs from one queue
    Pool,
    /// threads at a mutex and a condition variable
    PoolCondvar,
    /// threads that count arrivals and sleep in futex(2)
    PoolFutex,
    /// a thread for each task, created by one that takes the arrivals
    Thread,
}

/// Bytes of a task: its times, its arrival, and what is sorted.
const TASK_BYTES: u64 = 64;

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 1, iters: 6000, warmup: 100 };

    fn flags(&self) -> &Flags {
        &self.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        let cpus = Cpus::new(self.load.is_some())?;
        let arrivals = self.schedule(&cpus).arrivals() as u64;
        if self.workers.is_some() && matches!(self.on, On::Thread | On::TokioPerCpu) {
            return Err(BadUsage::new(
                "--workers: --on thread has one for each task and tokio-per-cpu one for each CPU: drop it",
            ));
        }
        let is_tokio = matches!(self.on, On::Tokio | On::TokioOutside | On::TokioPerCpu);
        let claim = if is_tokio { Claim::UserSwitch } else { Claim::KernelSwitch };
        let per_cpu = if self.on == On::TokioPerCpu { cpus.serving.len() as u64 } else { 0 };
        let tasks = Description {
            arrivals: self.load.map(|_| 1),
            passes: vec![PassKind { settle: 0, ..PassKind::main() }],
            needs: Needs {
                // A runtime has an epoll, an eventfd and a duplicate of it.
                descriptors: Need::new(10 + 4 * per_cpu, 0),
                bytes: Need::new(12 << 20, TASK_BYTES * arrivals),
                ..Needs::default()
            },
            ..Description::new("sparse-arrivals", &self.flags, claim)
        };
        let workers = self.workers(&cpus);
        if !is_tokio || self.server.is_some() {
            // A runtime has some threads beside its workers.
            let threads = if is_tokio { workers + 10 } else { workers };
            let runtime = self.server.as_ref().map(|server| outside::runtime(server, workers));
            return Ok(Description {
                needs: tasks.needs + worker_needs(threads),
                runtime: runtime.transpose()?,
                ..tasks
            });
        }
        let mut description = RuntimeFlags::multi_thread(Some(workers)).describe(tasks)?;
        if let (On::TokioPerCpu, Some(runtime)) = (self.on, &mut description.runtime) {
            runtime.flavor = "current-thread".to_owned();
        }
        Ok(description)
    }
}

impl Cli {
    fn schedule(&self, cpus: &Cpus) -> Schedule {
        match self.load {
            Some(load) => Schedule::of_load(load, self.flags.tasks, self.work, cpus.serving.len()),
            None => Schedule::at_interval(self.every, self.flags.tasks),
        }
    }

    fn workers(&self, cpus: &Cpus) -> u32 {
        match (self.on, self.load) {
            (On::Thread, _) => 1,
            (On::TokioPerCpu, _) | (_, Some(_)) => {
                self.workers.unwrap_or(cpus.serving.len() as u32)
            }
            _ => self.workers.unwrap_or(4),
        }
    }
}

fn main() -> ExitCode {
    contract::main(measure)
}

/// Starts what serves, and runs all passes.
fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let cpus = Cpus::new(cli.load.is_some())?;
    let schedule = cli.schedule(&cpus);
    // Threads that are created from here on are kept from the generator's CPU.
    restrict(&cpus.serving).context("cannot keep threads from the generator's CPU")?;
    let tasks = schedule.arrivals() * schedule.at_once;
    let window = Window::new(tasks, work::multiplications(cli.work)?)?;
    let generator = Generator::new(schedule, cpus.clone(), window);
    let workers = cli.workers(&cpus);
    if let Some(program) = &cli.server {
        return outside::serve(program, workers, window, generator, run);
    }
    let runtime = || RuntimeFlags::multi_thread(Some(workers)).build(true);
    match cli.on {
        On::Tokio => servers::from_inside(&runtime()?, window, generator, run),
        On::TokioOutside => {
            let runtime = runtime()?;
            generator.generate(run, |task| {
                runtime.spawn(async move { task.run() });
                Ok(())
            })
        }
        On::TokioPerCpu => servers::per_cpu(&cpus.serving, generator, run),
        On::Pool => {
            let pool = Pool::start(workers, Bound::Unbounded)?;
            generator.generate(run, |task| pool.queue.submit(move || task.run()))?;
            pool.join()
        }
        On::PoolCondvar => servers::at_condvar(workers, generator, run),
        On::PoolFutex => servers::at_futex(workers, window, generator, run, |_, task| task.run()),
        On::Thread => servers::at_futex(workers, window, generator, run, servers::create_thread),
    }
}
