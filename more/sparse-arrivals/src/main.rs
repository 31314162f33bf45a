//! Short tasks that arrive now and then, on threads that are mostly idle.
//!
//! One iteration: at its time of a fixed schedule, one every `--every`, the main thread submits a short
//! task and sleeps until the next is due. With `--tasks N` it submits N at once. A task multiplies
//! `--work` times. `--on tokio` is a server in small: the main thread writes to a pipe, and a task that
//! reads it spawns the short ones. `--on tokio-outside` has the main thread spawn them, `--on pool` put
//! them into a queue that as many threads share.
//!
//! Timed: from the submission until a short task reads the clock, its first instruction; of several, the
//! last one. So a sample is by how much a task starts late: the work is the same everywhere. The
//! distribution `to_end` is until the last one has multiplied. Left out: the sleep between arrivals, and
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
//!
//! With `--load` it is another program, an open loop: see `load/mod.rs`.

mod load;
mod schedule;
mod task;
mod work;

use std::io::{Write, pipe};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use blocking::{Bound, Pool};
use clap::builder::ArgPredicate::IsPresent;
use clap::{Parser, ValueEnum};
use contract::message::{Claim, Description, Need, Needs};
use contract::samples::Recorder;
use contract::units::Span;
use contract::{BadUsage, Defaults, Flags, Pass, Program, Run};
use load::LoadFlags;
use runtime::{RuntimeFlags, WorkerCounts};
use schedule::Schedule;
use task::{ShortTask, Times, multiply};
use threads::worker_needs;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::runtime::{Handle, Runtime};
use work::Work;

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
    /// Threads that run them [default: 4; with --load one for each CPU that serves]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=32768))]
    workers: Option<u32>,
    /// Time from one arrival to the next, 1us to 1s
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "500us", value_parser = schedule::interval)]
    every: Span,
    /// Multiplications of a task, each of which waits for the one before; or the CPU time that they take, such as
    /// 20us
    #[arg(
        long,
        value_name = "N|TIME",
        allow_hyphen_values = true,
        default_value = "3000",
        default_value_if("load", IsPresent, "20us")
    )]
    work: Work,
    #[command(flatten)]
    load: LoadFlags,
}

/// Executor of the tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum On {
    /// Tokio's multi-thread scheduler: a task that a pipe wakes spawns them
    Tokio,
    /// the same scheduler: the main thread, outside the runtime, spawns them
    TokioOutside,
    /// OS threads that take jobs from one queue
    Pool,
    /// with --load: threads at a mutex and a condition variable
    PoolCondvar,
    /// with --load: threads that count arrivals and sleep in futex(2)
    PoolFutex,
    /// with --load: a thread for each task, created by one that takes the arrivals
    Thread,
    /// with --load: a current-thread runtime on each CPU that serves, in turn
    TokioPerCpu,
}

/// Time after which a task is lost.
const LONGEST: Duration = Duration::from_secs(60);

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 1, iters: 6000, warmup: 100 };

    fn flags(&self) -> &Flags {
        &self.flags
    }

    fn describe(&self) -> anyhow::Result<Description> {
        if let Some(percent) = self.load.load {
            return load::describe(self, percent);
        }
        if !matches!(self.on, On::Tokio | On::TokioOutside | On::Pool) {
            return Err(BadUsage::new("--on: without --load write tokio, tokio-outside or pool"));
        }
        let is_pool = self.on == On::Pool;
        let claim = if is_pool { Claim::KernelSwitch } else { Claim::UserSwitch };
        let tasks = Description {
            needs: Needs {
                descriptors: Need::new(10, 0),
                bytes: Need::new(4 << 20, 1 << 10),
                ..Needs::default()
            },
            ..Description::new("sparse-arrivals", &self.flags, claim)
        };
        if !is_pool {
            return self.runtime(self.workers()).describe(tasks);
        }
        Ok(Description { needs: tasks.needs + worker_needs(self.workers()), ..tasks })
    }
}

impl Cli {
    /// Threads that run tasks, without a load.
    fn workers(&self) -> u32 {
        self.workers.unwrap_or(4)
    }

    fn runtime(&self, workers: u32) -> RuntimeFlags {
        RuntimeFlags::multi_thread(Some(workers))
    }
}

fn main() -> ExitCode {
    contract::main(measure)
}

fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    if let Some(percent) = cli.load.load {
        return load::measure(cli, percent, run);
    }
    let (tell, told) = channel();
    let work = cli.work.multiplications()?;
    let arrivals = Arrivals { product: multiply(work), told };
    let task = ShortTask { work, tell };
    match cli.on {
        On::Tokio => {
            let runtime = cli.runtime(cli.workers()).build(true)?;
            spawn_from_inside(cli, run, &runtime, task, &arrivals)
        }
        On::TokioOutside => {
            let runtime = cli.runtime(cli.workers()).build(true)?;
            arrivals.serve(cli, run, Some(runtime.handle()), || {
                for _ in 0..cli.flags.tasks {
                    let task = task.clone();
                    runtime.spawn(async move { task.run() });
                }
                Ok(())
            })
        }
        // `describe` has refused the others.
        _ => {
            let pool = Pool::start(cli.workers(), Bound::Unbounded)?;
            let queue = pool.queue.clone();
            let served = arrivals.serve(cli, run, None, || {
                (0..cli.flags.tasks).try_for_each(|_| {
                    let task = task.clone();
                    queue.submit(move || task.run())
                })
            });
            drop(queue);
            // If a task is lost, those that wait behind it could take hours: they end with the process.
            served?;
            pool.join()
        }
    }
}

/// All passes, with a task of the runtime that reads of each arrival from a pipe.
fn spawn_from_inside(
    cli: &Cli,
    run: &mut Run,
    runtime: &Runtime,
    task: ShortTask,
    arrivals: &Arrivals,
) -> anyhow::Result<()> {
    let (reader, mut writer) = pipe().context("cannot make the pipe")?;
    let tasks = cli.flags.tasks;
    let acceptor = runtime.spawn(async move {
        let mut reader = pipe::Receiver::from_owned_fd(reader.into())?;
        // With room for more than what arrives, a read that is short tells Tokio that nothing is left.
        let mut bytes = [0; 16];
        while reader.read(&mut bytes).await? > 0 {
            for _ in 0..tasks {
                let task = task.clone();
                tokio::spawn(async move { task.run() });
            }
        }
        anyhow::Ok(())
    });
    let served = arrivals.serve(cli, run, Some(runtime.handle()), || {
        writer.write_all(&[0]).context("cannot write to the pipe")
    });
    drop(writer);
    runtime.block_on(runtime::join(acceptor)).and(served)
}

/// The main thread's side of the tasks.
struct Arrivals {
    /// Product that each task must compute.
    product: u64,
    told: Receiver<Times>,
}

impl Arrivals {
    /// All passes.
    fn serve(
        &self,
        cli: &Cli,
        run: &mut Run,
        runtime: Option<&Handle>,
        mut submit: impl FnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        while let Some(mut pass) = run.next_pass()? {
            let counts = runtime.filter(|_| pass.is_for_runner()).map(WorkerCounts::now);
            let result = self.arrive(cli, &mut pass, &mut submit);
            if let Some(counts) = counts {
                counts.add_to(&mut pass);
            }
            run.finish(pass)?;
            result?;
        }
        Ok(())
    }

    /// Submits tasks in each iteration, and times how late the last one starts.
    fn arrive(
        &self,
        cli: &Cli,
        pass: &mut Pass,
        mut submit: impl FnMut() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let (mut to_end, mut submitted_late) = (Recorder::default(), Recorder::default());
        let mut schedule = Schedule::new(cli.every)?;
        let mut late = schedule.sleep()?;
        while pass.next_iteration().is_some() {
            let clock = Instant::now();
            submit()?;
            let next_late = schedule.sleep()?;

            let (started, ended) = self.last_of(cli.flags.tasks, clock, &mut schedule)?;
            pass.record(started);
            if pass.is_timed() {
                to_end.record(ended.as_nanos() as u64);
                submitted_late.record(late.as_nanos() as u64);
            }
            late = next_late;
        }
        pass.add_extra("to_end", &to_end);
        pass.add_extra("submitted_late", &submitted_late);
        Ok(())
    }

    /// Times from the submission until the last task started, and until the last one ended. If one has
    /// not ended yet, waits for the next arrival that is due.
    fn last_of(
        &self,
        tasks: u32,
        submitted: Instant,
        schedule: &mut Schedule,
    ) -> anyhow::Result<(Duration, Duration)> {
        let mut last = (Duration::ZERO, Duration::ZERO);
        for _ in 0..tasks {
            let times = loop {
                match self.told.try_recv() {
                    Ok(times) => break times,
                    Err(TryRecvError::Disconnected) => bail!("the tasks are gone"),
                    Err(TryRecvError::Empty) => schedule.sleep()?,
                };
                ensure!(submitted.elapsed() < LONGEST, "a task has not ended in {LONGEST:?}");
            };
            let Times { started, ended, product } = times;
            ensure!(product == self.product, "a task found {product}, expected {}", self.product);
            last.0 = last.0.max(started - submitted);
            last.1 = last.1.max(ended - submitted);
        }
        Ok(last)
    }
}
