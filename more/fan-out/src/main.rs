//! One sender, many receivers: what does the sender pay, and when has the last receiver run?
//!
//! N receivers (`--tasks`) all wait for the same sender, which sends a message to all of them by one call; `--on` says
//! which. Receivers are threads, or async tasks like the sender itself. One iteration: a message to all of them.
//!
//! Timed: from before the call until the last receiver has received the message, and has read the clock. The
//! distribution `sender` is the time of the call alone. Left out: the wake-up of the sender by the last receiver. The next
//! message is sent as soon as it has woken: a thread that is last may not be asleep again by then.
//!
//! Proof: each receiver counts its messages, and each must have all of them.

mod tasks;
mod threads;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use brigade::StackFlags;
use clap::{Parser, ValueEnum};
use contract::message::{Claim, Description, Need, Needs};
use contract::{Defaults, Flags, Program, Run};
use host::units::Bytes;
use runtime::RuntimeFlags;

/// Time one sender that wakes many receivers at once, threads or async tasks
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of receivers").visible_alias("receivers")))]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    /// Call by which the sender wakes all receivers
    #[arg(long, value_enum, default_value_t = SendCall::Watch)]
    on: SendCall,
    #[command(flatten)]
    runtime: RuntimeFlags,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SendCall {
    /// threads: Condvar::notify_all of std, after a flag was set under its Mutex
    Condvar,
    /// threads: FUTEX_WAKE of all that sleep on a word
    Futex,
    /// async tasks: send_modify on a tokio::sync::watch
    Watch,
    /// async tasks: send on a tokio::sync::broadcast
    Broadcast,
    /// async tasks: tokio::sync::Notify::notify_waiters
    Notify,
}

impl SendCall {
    fn is_of_tokio(self) -> bool {
        matches!(self, SendCall::Watch | SendCall::Broadcast | SendCall::Notify)
    }
}

const STACK: StackFlags = StackFlags { stack_size: Bytes(64 << 10) };

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 100, iters: 500, warmup: 50 };

    fn describe(&self) -> anyhow::Result<Description> {
        let described = |claim| Description {
            hops: Some(self.flags.tasks.into()),
            ..Description::new("fan-out", &self.flags, claim)
        };
        if self.on.is_of_tokio() {
            let needs = Needs { bytes: Need::new(8 << 20, 4 << 10), ..Needs::default() };
            return self.runtime.describe(Description { needs, ..described(Claim::UserSwitch) });
        }
        self.runtime.refuse("watch")?;
        Ok(Description { needs: STACK.needs(), ..described(Claim::KernelSwitch) })
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run: &mut Run| {
        if cli.on.is_of_tokio() { tasks::measure(cli, run) } else { threads::measure(cli, run) }
    })
}

/// Receivers of the message that is under way.
#[derive(Debug)]
struct Receipts {
    /// Receivers that have yet to receive it.
    left: AtomicU32,
    origin: Instant,
    /// Time of the last one, in ns after the origin.
    last_at: AtomicU64,
}

impl Receipts {
    fn new() -> Self {
        Receipts { left: AtomicU32::new(0), origin: Instant::now(), last_at: AtomicU64::new(0) }
    }

    /// Begins to count, before a message is sent to so many.
    fn expect(&self, receivers: u32) {
        self.left.store(receivers, Ordering::Release);
    }

    /// Counts a receiver; true if it is the last one, which has to wake the sender.
    fn add(&self) -> bool {
        let is_last = self.left.fetch_sub(1, Ordering::AcqRel) == 1;
        if is_last {
            self.last_at.store(self.origin.elapsed().as_nanos() as u64, Ordering::Release);
        }
        is_last
    }

    /// Time from then until the last one.
    fn since(&self, begun: Instant) -> Duration {
        let last = self.origin + Duration::from_nanos(self.last_at.load(Ordering::Acquire));
        last.saturating_duration_since(begun)
    }
}
