//! The open loop: tasks arrive at a load, by a schedule that waits for none of them.
//!
//! One iteration is one arrival: `--tasks` tasks, after an exponential gap. A task multiplies for `--work` of CPU time,
//! by a calibration at the start. The gaps are such that this work is `--load` per cent of the CPUs that serve. The queue
//! is never emptied within a request, however many iterations that has; before them come arrivals that do not count,
//! until the queue is as long as it will be. The arrivals of any two processes differ.
//!
//! A sample is the time from a *scheduled* arrival to the first instruction of its task, of several the last one:
//! what is late makes all that wait late, and nothing is left out (no coordinated omission). Percentiles are the runner's, of all
//! samples of a process. `in_task` is from the start to the end of a task. Values for each request, in per cent of
//! the CPUs that serve: `cpu_percent`, the CPU time of all threads but the generator's; `others_percent`, that of other programs
//! and what the host took.
//!
//! The main thread is the generator. If this process may use two CPUs or more, the last one is its own: it spins
//! there until the next arrival is due, and all other threads are kept from that CPU. With one CPU it sleeps.
//! `generator_late` is by how much it was late itself, the submission of earlier tasks included: what it
//! is late, a sample is late too. It submits nothing while 100 ms of work wait.
//!
//! CPU time and switches of the process include the generator's. A load that what serves cannot do, its own
//! cost included, is an error: tasks start later and later to the end. Beside others that use the CPUs it is none,
//! unless the tasks alone take more CPU time than there is: they do start so late.
//!
//! Not to be taken for a network server: an arrival is a store, a system call or a byte in a pipe. A CPU
//! whose hyperthread neighbour is the generator's is slower than others.

mod cpus;
mod generator;
mod servers;
mod window;

use clap::ValueEnum;
use contract::message::{Claim, Description, MOST_SAMPLES, Need, Needs, PassKind};
use contract::units::Span;
use contract::{BadUsage, Run};
use threads::worker_needs;

use crate::work::Work;
use crate::{Cli, On};
use blocking::{Bound, Pool};
use cpus::{Cpus, restrict};
use generator::Generator;
use window::Window;

/// Arrivals before those that count: so many, divided by the square of the idle share. The relaxation time of M/M/1 is
/// about four times the time of a task, divided by that square; this is five of them, for a load to which the cost of
/// serving adds half of what is idle. At most as many as a request has.
const LEAD: f64 = 80.0;

/// Work that waits at most, in ns for each CPU that serves, and in tasks at least.
const ROOM: (u64, u64) = (100_000_000, 200);

/// Bytes of a task: its times, its arrival, and what is sorted.
const TASK_BYTES: u64 = 64;

/// Flags of the open loop.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct LoadFlags {
    /// Open loop: tasks arrive at random and wait for none before them, with so much work in per cent of the
    /// CPUs that serve
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with = "every", help_heading = "Open loop")]
    pub(crate) load: Option<u32>,
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

/// A schedule.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Plan {
    /// In per cent.
    load: u32,
    /// Arrivals of a request before those that count.
    lead: usize,
    /// Tasks of an arrival.
    at_once: usize,
    /// Mean time from one arrival to the next, in ns.
    gap: f64,
    /// Most tasks that wait or run.
    room: u64,
}

impl Plan {
    /// Tasks of `work` ns on so many CPUs.
    fn new(load: u32, at_once: u32, work: u64, cpus: usize) -> Self {
        let (cpus, each) = (cpus as u64, u64::from(at_once));
        let idle = (1.0 - f64::from(load) / 100.0).max(0.0);
        let lead = (LEAD / idle.powi(2)).min(MOST_SAMPLES as f64) as usize;
        Plan {
            load,
            lead,
            at_once: at_once as usize,
            gap: (work * each) as f64 * 100.0 / (f64::from(load) * cpus as f64),
            room: cpus * (ROOM.0 / work).max(ROOM.1),
        }
    }

    fn of(cli: &Cli, load: u32, cpus: &Cpus) -> anyhow::Result<Self> {
        let Work::Time(Span(work)) = cli.work else {
            return Err(BadUsage::new("--work: with --load write a time such as 20us"));
        };
        Ok(Plan::new(load, cli.flags.tasks, work, cpus.serving.len()))
    }

    /// Most arrivals of a request.
    fn arrivals(&self) -> usize {
        self.lead + MOST_SAMPLES as usize
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
        arrivals: Some(1),
        passes: vec![PassKind { settle: 0, ..PassKind::main() }],
        needs: Needs {
            // A runtime has an epoll, an eventfd and a duplicate of it.
            descriptors: Need::new(10 + 4 * per_cpu, 0),
            bytes: Need::new(12 << 20, TASK_BYTES * plan.arrivals() as u64),
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
    // Threads that are created from here on are kept from the generator's CPU.
    restrict(&cpus.serving)?;
    let has_stalls = cli.load.test_fault == Some(Fault::Stall);
    let tasks = plan.arrivals() * plan.at_once;
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
