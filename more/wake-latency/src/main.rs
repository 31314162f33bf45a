//! What does a wake-up cost, by how long the thread that is woken has slept?
//!
//! A thread sleeps in FUTEX_WAIT, alone on the second CPU that this process may use. This thread, on the first one,
//! reads the clock for `--slept`, and then wakes it. While nobody needs the second CPU, the kernel sends it into an idle
//! state: the longer it expects to have nothing to do, the deeper a state, and the longer the way back.
//!
//! One iteration: N wake-ups, where N is `--tasks`. Timed, of each: from before FUTEX_WAKE on the one CPU until the other
//! thread runs on its own and has read the clock. The distribution `waker` is the time that the call took, which is CPU
//! time: an interrupt has to be sent, which a guest cannot do by itself.
//!
//! With `--keep-awake` a thread under SCHED_IDLE computes on the second CPU, which therefore never idles; it yields to
//! every other thread at once.
//!
//! Proof: each call says that it has woken one thread. Where it woke none, since the thread was not asleep yet, the
//! wake-up is made again. Left out: the sleep before, and the thread's way back into it.

#![expect(unsafe_code, reason = "a scheduling policy is set")]

use std::fs;
use std::hint::spin_loop;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use brigade::{StackFlags, allowed_cpus, futex, join, restrict};
use clap::Parser;
use contract::message::{Claim, Description, Need, Needs};
use contract::samples::Recorder;
use contract::{BadUsage, Defaults, Flags, Interrupted, Program, Run};
use host::signals;
use host::units::{Bytes, Span};
use nix::errno::Errno;

/// Time the wake-up of a thread on another CPU that has slept for a while
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of wake-ups per iteration")))]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    /// How long the thread has slept before each wake-up
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = slept, default_value = "1ms")]
    slept: Span,
    /// Keep the CPU awake on which the thread sleeps, by a thread of the lowest priority (SCHED_IDLE)
    #[arg(long)]
    keep_awake: bool,
}

const STACK: StackFlags = StackFlags { stack_size: Bytes(64 << 10) };

/// Most wake-ups in a row that find nobody asleep.
const MOST_IN_VAIN: u32 = 1000;

fn slept(text: &str) -> Result<Span, String> {
    match Span::at_most(text, Span(1_000_000_000))? {
        Span(..1_000) => Err("a thread needs time to fall asleep: raise it to 1us or more".to_owned()),
        span => Ok(span),
    }
}

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 1, iters: 500, warmup: 10 };

    fn describe(&self) -> anyhow::Result<Description> {
        let cpus = allowed_cpus()?;
        let &[_, there, ..] = cpus.as_slice() else {
            return Err(BadUsage::new(
                "it needs two CPUs, but this process may use only one: allow more by taskset(1)",
            ));
        };
        Ok(Description {
            hops: Some(self.flags.tasks.into()),
            needs: STACK.needs() + Needs { threads: Need::new(2, 0), ..Needs::default() },
            notes: vec![format!("idle states of CPU {there}: {}", idle_states(there))],
            ..Description::new("wake-latency", &self.flags, Claim::KernelSwitch)
        })
    }
}

/// Names of a CPU's idle states, each with the time that the way back is said to take.
fn idle_states(cpu: usize) -> String {
    let state = |k: u32| {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{k}");
        let name = fs::read_to_string(format!("{folder}/name")).ok()?;
        let latency = fs::read_to_string(format!("{folder}/latency")).ok()?;
        Some(format!("{} ({} µs)", name.trim(), latency.trim()))
    };
    let states: Vec<String> = (0..).map_while(state).collect();
    if states.is_empty() { "/sys names none".to_owned() } else { states.join(", ") }
}

/// What the two threads share.
#[derive(Debug)]
struct Shared {
    /// Number of the last wake-up. The thread sleeps while it has not changed.
    word: AtomicU32,
    /// When it woke, in ns after the origin, and the wake-up by which it did.
    woke_at: AtomicU64,
    woke_by: AtomicU32,
    is_over: AtomicBool,
    /// The CPU is kept awake.
    is_pass: AtomicBool,
    origin: Instant,
}

fn main() -> ExitCode {
    contract::main(measure)
}

fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let cpus = allowed_cpus()?;
    restrict(&[cpus[1]]).context("cannot pin a thread to its CPU")?;
    let shared = Arc::new(Shared {
        word: AtomicU32::new(0),
        woke_at: AtomicU64::new(0),
        woke_by: AtomicU32::new(0),
        is_over: AtomicBool::new(false),
        is_pass: AtomicBool::new(false),
        origin: Instant::now(),
    });
    let sleeper = Arc::clone(&shared);
    let sleeper = STACK.spawn(1, move || sleep_again_and_again(&sleeper))?;
    restrict(&[cpus[0]]).context("cannot pin a thread to its CPU")?;
    drive(cli, run, &shared)?;
    shared.is_over.store(true, Ordering::Relaxed);
    shared.word.fetch_add(1, Ordering::Release);
    futex::wake(&shared.word);
    join(sleeper)
}
