//! What it costs to wait: for a timer, for one of several events, for another task, a lock, another thread, or
//! blocking work.
//!
//! One iteration: N operations in a row, where N is `--tasks`. `--on` names the operation ([`Way`]); each family of
//! them is a file. `--other-side` says where the side is that a signal wakes:
//! - `none`: here, in the same task or thread, which does both: nobody sleeps;
//! - `same-cpu`: a task of the same runtime, or a thread on the same CPU;
//! - `idle-cpu`: a thread on a CPU of its own that sleeps there, or a task on a runtime of its own there;
//! - `busy-cpu`: the same, while another process computes on that CPU.
//!
//! An operation is then a round trip, two hops: a signal, a wait for the answer, and between them the same by the
//! other side. The other families, except for choices, cold pools and timerfd, share the N operations among
//! `--contenders`.
//!
//! Timed: those operations. Left out: whatever is built, and the proof: signals that the other side answered are
//! counted, and what a lock guards. A JoinHandle ends when its task has.
//!
//! At rest N tasks wait for Tokio's timers or signals: the slope of memory over `--tasks` is the size of a waiter and
//! of what it waits for. Of the other families nobody waits at rest.
//!
//! Not to be taken for a latency under load: one side always waits for the other. Tokio has its drivers of I/O and
//! time, as `#[tokio::main]` has, so that a runtime with nothing to do sleeps in epoll_wait(2). Every 128 events at
//! most a task yields once (Tokio's budget), which is in the time.

mod beside_timers;
mod blocking;
mod choice;
mod locks;
mod place;
mod signals;
mod team;
mod timers;
mod wakes;

use std::process::ExitCode;

use beside_timers::timer_needs;
use brigade::{StackFlags, allowed_cpus};
use clap::{Parser, ValueEnum};
use contract::message::{Claim, Description, Need, Needs};
use contract::{BadUsage, Defaults, Flags, Program, Run};
use host::units::{Bytes, Span};
use place::OtherSide;
use runtime::{Flavor, RuntimeFlags};
use tokio::runtime::Runtime;

/// Time what it costs to wait: for a timer, one of several events, a task, a lock, a thread or blocking work
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of operations per iteration")))]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    /// Operation to time
    #[arg(long, value_enum, default_value_t = Way::Notify)]
    on: Way,
    /// Where the side that is woken runs, for signal and wake
    #[arg(long, value_enum, default_value_t = OtherSide::None)]
    other_side: OtherSide,
    /// Worker threads of Tokio's multi-thread scheduler, for each side [default: one per CPU; signal, choice, and timer
    /// without --contenders have the current-thread scheduler]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..=1000))]
    workers: Option<u32>,
    /// Number of timers that are set to a day meanwhile, for timer
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 0)]
    armed: u32,
    /// Number of async tasks (threads for std-mutex and parking-lot) that share the operations, and run at once
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    contenders: u32,
    /// How long the lock is held, while its holder computes
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "0ns", value_parser = held)]
    held: Span,
}

/// Stacks of threads that contend, or that are the other side.
const STACK: StackFlags = StackFlags { stack_size: Bytes(1 << 20) };

fn held(text: &str) -> Result<Span, String> {
    let span: Span = text.parse()?;
    if span.0 > 1_000_000 {
        Err("a lock is held for at most 1ms: lower it".to_owned())
    } else {
        Ok(span)
    }
}

/// An operation. Each line begins with the name of its family.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Way {
    /// timer: poll a tokio::time::sleep of a week once and drop it: into the timer wheel and out again
    TokioTimer,
    /// timer: set and clear a timer with timerfd_settime(2)
    Timerfd,
    /// timer: await a ready future in a tokio::time::timeout of a week: no timer gets into the wheel
    TimeoutReady,
    /// choice: poll a select! over two empty channels once and drop it: what a loop pays before it sleeps
    #[value(name = "select-2-pending")]
    Select2Pending,
    /// choice: like select-2-pending, over eight channels
    #[value(name = "select-8-pending")]
    Select8Pending,
    /// signal: notify_one, then notified().await
    Notify,
    /// signal: like notify, with each wait in a tokio::time::timeout of a week
    TimeoutHandOver,
    /// signal: a new oneshot channel per message; its sender travels with the message before
    Oneshot,
    /// signal: try_send into a tokio::sync::mpsc channel with one place, then recv().await
    Mpsc,
    /// signal: send_modify on a tokio::sync::watch, then changed().await
    Watch,
    /// lock: std::sync::Mutex, among threads
    StdMutex,
    /// lock: parking_lot::Mutex, among threads
    ParkingLot,
    /// lock: tokio::sync::Mutex, among async tasks of a runtime with one worker per CPU
    TokioMutex,
    /// wake: set a word, then FUTEX_WAKE; the other side sleeps in FUTEX_WAIT
    Futex,
    /// wake: set a flag under a std::sync::Mutex, then Condvar::notify_one
    Condvar,
    /// wake: write a byte to a pipe; the other side sleeps in epoll_wait(2), then reads
    Pipe,
    /// wake: IORING_OP_MSG_RING from one side's io_uring to the other's (Linux 5.18)
    UringMsgRing,
    /// spawn: await one empty tokio::spawn after the other
    Spawn,
    /// spawn: the same on another runtime; the tasks go into its injection queue
    Inject,
    /// blocking: await one empty spawn_blocking after the other: the thread exists already
    SpawnBlocking,
    /// blocking: N spawn_blocking at once; none returns before all run, so all threads but one are new
    SpawnBlockingCold,
    /// blocking: an empty block_in_place: the worker hands its tasks to another thread, and takes them back
    BlockInPlace,
}

/// Rows with the same flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Timer,
    Choice,
    Signal,
    Lock,
    Wake,
    Spawn,
    Blocking,
}

impl Way {
    fn family(self) -> Family {
        match self {
            Way::TokioTimer | Way::Timerfd | Way::TimeoutReady => Family::Timer,
            Way::Select2Pending | Way::Select8Pending => Family::Choice,
            Way::Notify | Way::Oneshot | Way::Mpsc | Way::Watch => Family::Signal,
            Way::TimeoutHandOver => Family::Signal,
            Way::Spawn | Way::Inject => Family::Spawn,
            Way::StdMutex | Way::ParkingLot | Way::TokioMutex => Family::Lock,
            Way::SpawnBlocking | Way::SpawnBlockingCold | Way::BlockInPlace => Family::Blocking,
            _ => Family::Wake,
        }
    }

    fn is_of_tokio(self) -> bool {
        let is_other = matches!(self, Way::Timerfd | Way::StdMutex | Way::ParkingLot);
        !is_other && self.family() != Family::Wake
    }
}

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 100, iters: 1000, warmup: 100 };

    fn describe(&self) -> anyhow::Result<Description> {
        self.check()?;
        let is_handed_over = matches!(self.on.family(), Family::Signal | Family::Wake);
        let claim = match (self.on.family(), self.other_side) {
            (Family::Lock, _) if !self.on.is_of_tokio() => Claim::KernelSwitch,
            (Family::Lock | Family::Spawn | Family::Blocking, _) => Claim::UserSwitch,
            (_, OtherSide::None) => Claim::NoSwitch,
            (Family::Signal, OtherSide::SameCpu) => Claim::UserSwitch,
            _ => Claim::KernelSwitch,
        };
        let description = Description {
            hops: is_handed_over.then_some(2 * u64::from(self.flags.tasks)),
            needs: self.needs(),
            ..Description::new("waiting", &self.flags, claim)
        };
        let is_of_tokio = self.on.is_of_tokio();
        if is_of_tokio { self.runtime_flags().describe(description) } else { Ok(description) }
    }
}

impl Cli {
    /// Refuses flags that change nothing, and combinations that cannot exist.
    fn check(&self) -> anyhow::Result<()> {
        let (family, is_of_tokio) = (self.on.family(), self.on.is_of_tokio());
        let is_cold = self.on == Way::SpawnBlockingCold;
        let (is_signal, is_lock) = (family == Family::Signal, family == Family::Lock);
        let is_timer = family == Family::Timer || self.on == Way::TimeoutHandOver;
        let is_shared = match family {
            Family::Signal | Family::Choice | Family::Wake => false,
            Family::Timer => is_of_tokio,
            Family::Lock | Family::Spawn | Family::Blocking => !is_cold,
        };
        let is_elsewhere = self.other_side != OtherSide::None;
        for (flag, is_given, is_of_use) in [
            ("--other-side", is_elsewhere, is_signal || family == Family::Wake),
            ("--workers", self.workers.is_some(), is_of_tokio && !is_cold),
            ("--armed", self.armed > 0, is_timer),
            ("--contenders", self.contenders > 1, is_shared),
            ("--held", self.held.0 > 0, is_lock),
        ] {
            if is_given && !is_of_use {
                let row = self.on.to_possible_value().map(|row| row.get_name().to_owned());
                let row = row.unwrap_or_default();
                return Err(BadUsage::new(format!(
                    "{flag}: it has no effect with --on {row}: drop it"
                )));
            }
        }
        let (n, each) = (self.flags.tasks, self.least());
        let (contenders, least) = (self.contenders, each * self.contenders);
        if n < least {
            return Err(BadUsage::new(format!(
                "--tasks {n}: each of {contenders} contenders needs at least {each} operations: raise --tasks to {least}"
            )));
        }
        Ok(())
    }

    /// Least number of operations of each contender: threads take turns meanwhile, and a turn takes microseconds.
    fn least(&self) -> u32 {
        let is_of_threads = matches!(self.on, Way::StdMutex | Way::ParkingLot);
        match (is_of_threads && self.contenders > 1, self.held.0) {
            (false, _) => 1,
            (true, 0) => 10_000,
            (true, _) => 50,
        }
    }

    /// Each of its runtimes.
    pub(crate) fn runtime_flags(&self) -> RuntimeFlags {
        let is_alone = match self.on.family() {
            Family::Signal | Family::Choice => true,
            Family::Timer => self.contenders == 1,
            _ => false,
        };
        if is_alone && self.workers.is_none() {
            RuntimeFlags { flavor: Flavor::CurrentThread, ..RuntimeFlags::default() }
        } else {
            RuntimeFlags::multi_thread(self.workers)
        }
    }

    /// A runtime with its drivers, on the CPUs of the calling thread.
    fn runtime(&self) -> anyhow::Result<Runtime> {
        self.runtime_flags().build(|builder| builder.enable_all())
    }

    /// Upper bounds: more than was seen.
    fn needs(&self) -> Needs {
        let timers = if self.on == Way::Timerfd { self.armed } else { 0 };
        let cpus = allowed_cpus().map_or(1, |cpus| cpus.len() as u64);
        // Two runtimes, the threads for blocking work, and processes that compute.
        let workers = u64::from(self.workers.unwrap_or(0));
        let threads = u64::from(self.contenders) + workers + 3 * cpus + 16;
        // A thread for each operation, which is Tokio's and has a stack of 2 MiB.
        let each = u64::from(self.on == Way::SpawnBlockingCold);
        // At rest N tasks wait.
        let is_held = matches!(self.on.family(), Family::Timer | Family::Signal);
        let waiter = if is_held && self.on.is_of_tokio() { 4 << 10 } else { 0 };
        let needs = Needs {
            descriptors: Need::new(24 + u64::from(timers), 0),
            maps: Need::new(4 * threads, 4 * each),
            threads: Need::new(threads, each),
            bytes: Need::new((16 << 20) + threads * (100 << 10), waiter + each * (64 << 10)),
            space: Need::new(threads << 26, each * (2 << 20)),
        };
        needs + timer_needs(self.armed)
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run: &mut Run| match cli.on {
        Way::TokioTimer | Way::TimeoutReady => timers::in_tokio(cli, run),
        Way::Timerfd => timers::by_timerfd(cli, run),
        Way::TimeoutHandOver => signals::measure::<signals::InTime>(cli, run),
        Way::Notify => signals::measure::<signals::Notified>(cli, run),
        Way::Oneshot => signals::measure::<signals::Once>(cli, run),
        Way::Mpsc => signals::measure::<signals::Received>(cli, run),
        Way::Watch => signals::measure::<signals::Watched>(cli, run),
        Way::StdMutex => locks::among_threads::<std::sync::Mutex<u64>>(cli, run),
        Way::ParkingLot => locks::among_threads::<parking_lot::Mutex<u64>>(cli, run),
        Way::TokioMutex => locks::among_tasks(cli, run),
        Way::Futex => wakes::measure::<wakes::Futex>(cli, run),
        Way::Condvar => wakes::measure::<wakes::Condvar>(cli, run),
        Way::Pipe => wakes::measure::<wakes::Pipe>(cli, run),
        Way::UringMsgRing => wakes::measure::<wakes::UringMsgRing>(cli, run),
        Way::Spawn | Way::Inject => blocking::spawned(cli, run),
        Way::SpawnBlocking | Way::BlockInPlace => blocking::warm(cli, run),
        Way::SpawnBlockingCold => blocking::cold(cli, run),
        Way::Select2Pending | Way::Select8Pending => choice::measure(cli, run),
    })
}
