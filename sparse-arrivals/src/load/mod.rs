//! The open loop: tasks arrive at a load, by a schedule that waits for none of them.
//!
//! One iteration: a window of `--arrivals` arrivals with exponential gaps, `--tasks` tasks at each. A task
//! multiplies for `--work` of CPU time, by a calibration before the first window. The gaps are such that this work is
//! `--load` per cent of the CPUs that serve; the same window of any two runs has the same schedule. A window
//! ends when all of its tasks have. The first fifth of its arrivals is not counted: the queue starts empty.
//!
//! A sample is the 99th percentile, within the window, of the time from a task's *scheduled* arrival to its first
//! instruction: who is late makes all that wait late, and nothing is left out (no coordinated omission). The
//! distributions are of all tasks that count: `to_start`, `to_end`, and `in_task` from the start to the end;
//! `to_start_p999` and `to_end_p999` are of the windows' 99.9th percentiles. `cpu_percent` is the CPU time of all
//! threads but the generator's, in per cent of the CPUs that serve, a value for each window.
//!
//! The main thread is the generator. If this process may use two CPUs or more, the last one is its own: it spins
//! there until the next arrival is due, and all other threads are kept from that CPU. With one CPU it sleeps.
//! `generator_late` is by how much it was late itself, the submission of earlier tasks included: what it
//! is late, `to_start` is late too.
//!
//! CPU time and switches of the process include the generator's. A load that what serves cannot do, its own
//! cost included, is an error: the backlog passes 100 ms of work, or grows through five windows in a row.
//!
//! Not to be taken for a network server: an arrival is a store, a system call or a byte in a pipe. A CPU
//! whose hyperthread neighbour is the generator's is slower than others.

mod cpus;
mod generator;
mod servers;
mod window;

use clap::ValueEnum;
use contract::message::{Claim, Description, Need, Needs, PassKind};
use contract::units::{Nanos, Span};
use contract::{BadUsage, Run};
use threads::worker_needs;

use crate::work::Work;
use crate::{Cli, On};
use blocking::{Bound, Pool};
use cpus::{Cpus, restrict};
use generator::Generator;
use window::Window;

/// Part of a window's arrivals, one of so many, before those that count.
const LEAD: usize = 5;

/// Longest window, in ns.
const LONGEST_WINDOW: f64 = 60e9;

/// Backlog that ends a run, in ns of work for each CPU that serves, and in tasks at least.
const BACKLOG: (u64, u64) = (100_000_000, 200);

/// Bytes of a task: its times, its arrival, and what is sorted.
const TASK_BYTES: u64 = 64;

/// Flags of the open loop.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct LoadFlags {
    /// Open loop: tasks arrive at random and wait for none before them, with so much work in per cent of the
    /// CPUs that serve
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "every", help_heading = "Open loop")]
    pub(crate) load: Option<u32>,
    /// Arrivals of an iteration, the first fifth of which is not counted
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value = "5000", value_parser = clap::value_parser!(u32).range(1..), requires = "load", help_heading = "Open loop")]
    arrivals: u32,
    /// Fault for tests
    #[arg(long, hide = true, requires = "load")]
    test_fault: Option<Fault>,
}

/// Fault that a test asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Fault {
    /// No task starts in 1 ms of each 100 ms.
    Stall,
}

/// Size of the windows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Plan {
    /// In per cent.
    load: u32,
    /// Arrivals of a window.
    arrivals: usize,
    /// Tasks of an arrival.
    at_once: usize,
    /// Mean time from one arrival to the next, in ns.
    gap: f64,
    /// Backlog that ends the run, in tasks.
    limit: u64,
}

impl Plan {
    /// Windows of tasks of `work` ns on so many CPUs. Above 100 % they are so long that the backlog passes its
    /// limit.
    fn new(load: u32, arrivals: u32, at_once: u32, work: u64, cpus: usize) -> Self {
        let (cpus, each) = (cpus as u64, u64::from(at_once));
        let limit = cpus * (BACKLOG.0 / work).max(BACKLOG.1) + each;
        let excess = 1.0 - 100.0 / f64::from(load);
        let passing = if excess > 0.0 { 1.5 * limit as f64 / excess / each as f64 } else { 0.0 };
        Plan {
            load,
            arrivals: (arrivals as usize).max(passing.ceil() as usize),
            at_once: at_once as usize,
            gap: (work * each) as f64 * 100.0 / (f64::from(load) * cpus as f64),
            limit,
        }
    }

    fn of(cli: &Cli, load: u32, cpus: &Cpus) -> anyhow::Result<Self> {
        let Work::Time(Span(work)) = cli.work else {
            return Err(BadUsage::new("--work: with --load write a time such as 20us"));
        };
        Ok(Plan::new(load, cli.load.arrivals, cli.flags.tasks, work, cpus.serving.len()))
    }

    /// Refuses windows that take too long: nothing but a signal ends one.
    fn check(&self) -> anyhow::Result<()> {
        let [length, most] = [self.arrivals as f64 * self.gap, LONGEST_WINDOW];
        if length <= most {
            return Ok(());
        }
        Err(BadUsage::new(format!(
            "--arrivals {}: a window would take {} at this load, and {} is the most: at most {} fit",
            self.arrivals,
            Nanos(length),
            Nanos(most),
            (most / self.gap) as u64
        )))
    }

    /// What a backlog says of the load.
    fn too_much(&self) -> String {
        format!(
            "a load of {} %, and what it costs to serve it, is more than the CPUs can do: lower --load",
            self.load
        )
    }
}

/// Threads that serve.
fn workers(cli: &Cli, cpus: &Cpus) -> u32 {
    match cli.on {
        On::Thread => 1,
        _ => cli.workers.unwrap_or(cpus.serving.len() as u32),
    }
}

/// Description of an open loop.
pub(crate) fn describe(cli: &Cli, load: u32) -> anyhow::Result<Description> {
    let cpus = Cpus::allowed()?;
    let plan = Plan::of(cli, load, &cpus)?;
    if cli.workers.is_some() && matches!(cli.on, On::Thread | On::TokioPerCpu) {
        return Err(BadUsage::new(
            "--workers: --on thread has one for each task and tokio-per-cpu one for each CPU: drop it",
        ));
    }
    let is_tokio = matches!(cli.on, On::Tokio | On::TokioOutside | On::TokioPerCpu);
    let claim = if is_tokio { Claim::UserSwitch } else { Claim::KernelSwitch };
    let per_cpu = if cli.on == On::TokioPerCpu { cpus.serving.len() as u64 } else { 0 };
    let tasks = Description {
        arrivals: Some(plan.arrivals as u64),
        passes: vec![PassKind { settle: 0, ..PassKind::main() }],
        needs: Needs {
            // A runtime has an epoll, an eventfd and a duplicate of it.
            descriptors: Need::new(10 + 4 * per_cpu, 0),
            bytes: Need::new(12 << 20, TASK_BYTES * plan.arrivals as u64),
            ..Needs::default()
        },
        ..Description::new("sparse-arrivals", &cli.flags, claim)
    };
    let workers = workers(cli, &cpus);
    if !is_tokio {
        return Ok(Description { needs: tasks.needs + worker_needs(workers), ..tasks });
    }
    let mut description = cli.runtime(workers).describe(tasks)?;
    if let (On::TokioPerCpu, Some(runtime)) = (cli.on, &mut description.runtime) {
        runtime.flavor = "current-thread".to_owned();
    }
    Ok(description)
}

/// Starts what serves, and runs all passes.
pub(crate) fn measure(cli: &Cli, load: u32, run: &mut Run) -> anyhow::Result<()> {
    let cpus = Cpus::allowed()?;
    let plan = Plan::of(cli, load, &cpus)?;
    plan.check()?;
    // Threads that are created from here on are kept from the generator's CPU.
    restrict(&cpus.serving)?;
    let has_stalls = cli.load.test_fault == Some(Fault::Stall);
    let tasks = plan.arrivals * plan.at_once;
    let window = Window::new(tasks, cli.work.multiplications()?, has_stalls);
    let generator = Generator::new(plan, cpus.clone(), window);
    let workers = workers(cli, &cpus);
    match cli.on {
        On::Tokio => {
            let runtime = cli.runtime(workers).build(true)?;
            servers::from_inside(&runtime, window, generator, run)
        }
        On::TokioOutside => {
            let runtime = cli.runtime(workers).build(true)?;
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
