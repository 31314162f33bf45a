//! What does a wake-up cost, by how long the thread that is woken has slept?
//!
//! A thread sleeps in FUTEX_WAIT, alone on the second CPU that this process may use. This thread, on the first one,
//! reads the clock for `--slept`, and then wakes it. While nobody needs the second CPU, the kernel sends it into an idle
//! state: the longer it expects to have nothing to do, the deeper a state, and the longer the way back.
//!
//! One iteration: N wake-ups, where N is `--tasks`. Timed, of each: from before FUTEX_WAKE on the one CPU until the other
//! thread runs on its own and has read the clock. The distribution `waker` is the time that the call took, which is CPU
//! time of this thread.
//!
//! With `--keep-awake` a thread under SCHED_IDLE computes on the second CPU, which therefore never idles; it yields to
//! every other thread at once.
//!
//! Proof: each call says that it has woken one thread. Where it woke none, since the thread was not asleep yet, the
//! wake-up is made again. Left out: the sleep before, and the thread's way back into it.

mod awake;

use std::fs;
use std::hint::spin_loop;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use awake::AwakeCpu;
use brigade::{StackFlags, allowed_cpus, futex, join, restrict};
use clap::Parser;
use contract::message::{Claim, Description, Need, Needs};
use contract::samples::Recorder;
use contract::{BadUsage, Defaults, Flags, Interrupted, Program, Run};
use host::signals;
use host::units::{Bytes, Span};

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
        Span(..1_000) => {
            Err("a thread needs time to fall asleep: raise it to 1us or more".to_owned())
        }
        span => Ok(span),
    }
}

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 1, iters: 500, warmup: 10 };

    fn describe(&self) -> anyhow::Result<Description> {
        let states = allowed_cpus()?.get(1).map(|&there| idle_states(there));
        Ok(Description {
            needs: STACK.needs() + Needs { threads: Need::new(2, 0), ..Needs::default() },
            notes: states.into_iter().collect(),
            ..Description::new("wake-latency", &self.flags, Claim::KernelSwitch)
        })
    }
}

/// Idle states of a CPU, each with the time that the way back is said to take.
fn idle_states(cpu: usize) -> String {
    let state = |k: u32| {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{k}");
        let name = fs::read_to_string(format!("{folder}/name")).ok()?;
        let latency = fs::read_to_string(format!("{folder}/latency")).ok()?;
        Some(format!("{} ({} µs)", name.trim(), latency.trim()))
    };
    let states: Vec<String> = (0..).map_while(state).collect();
    let states = if states.is_empty() { "/sys names none".to_owned() } else { states.join(", ") };
    format!("idle states of CPU {cpu}: {states}")
}

/// What the two threads share.
#[derive(Debug, Default)]
struct WakeWord {
    /// Number of the last wake-up. The thread sleeps as long as it stays the same.
    word: AtomicU32,
    /// Time at which the thread ran after it, in ns after the origin; 0 while it has not.
    ran_at: AtomicU64,
    is_over: AtomicBool,
}

fn main() -> ExitCode {
    contract::main(measure)
}

fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let cpus = allowed_cpus()?;
    let &[here, there, ..] = cpus.as_slice() else {
        return Err(BadUsage::new(
            "it needs two CPUs, but this process may use only one: allow more by taskset(1)",
        ));
    };
    let (shared, origin) = (Arc::new(WakeWord::default()), Instant::now());
    // Threads begin on the CPU of the one that creates them.
    restrict(&[there]).context("cannot pin a thread to its CPU")?;
    let theirs = Arc::clone(&shared);
    let sleeper = STACK.spawn(1, move || sleep(&theirs, origin))?;
    let awake = cli.keep_awake.then(AwakeCpu::new).transpose()?;
    restrict(&[here]).context("cannot pin a thread to its CPU")?;
    while let Some(mut pass) = run.next_pass()? {
        let mut waker = Recorder::default();
        awake.iter().for_each(AwakeCpu::begin);
        while pass.next_iteration().is_some() {
            let mut latency = Duration::ZERO;
            for _ in 0..cli.flags.tasks {
                let woken = wake(&shared, origin, cli.slept.into())?;
                latency += woken.latency;
                waker.record(woken.call.as_nanos() as u64);
            }
            pass.record(latency);
        }
        awake.iter().for_each(AwakeCpu::rest);
        if pass.is_timed() {
            pass.add_extra("waker", &waker);
        }
        run.finish(pass)?;
    }
    shared.is_over.store(true, Ordering::Relaxed);
    shared.word.fetch_add(1, Ordering::Release);
    futex::wake(&shared.word);
    join(sleeper)?;
    awake.map_or(Ok(()), AwakeCpu::end)
}

/// Sleeps until each wake-up, and says when it has run.
fn sleep(shared: &WakeWord, origin: Instant) {
    let mut last = 0;
    loop {
        while shared.word.load(Ordering::Acquire) == last {
            futex::wait(&shared.word, last);
        }
        shared.ran_at.store(origin.elapsed().as_nanos() as u64, Ordering::Release);
        if shared.is_over.load(Ordering::Relaxed) {
            return;
        }
        last = last.wrapping_add(1);
    }
}

/// Times of one wake-up.
struct Woken {
    /// Until the thread ran.
    latency: Duration,
    /// Until the call returned.
    call: Duration,
}

/// Wakes the thread after it has slept so long. This thread does not sleep meanwhile, so that its own CPU stays as it is.
fn wake(shared: &WakeWord, origin: Instant, slept: Duration) -> anyhow::Result<Woken> {
    for _ in 0..MOST_IN_VAIN {
        let asleep = Instant::now();
        spin_until(|| asleep.elapsed() >= slept)?;
        shared.ran_at.store(0, Ordering::Relaxed);
        let begun = origin.elapsed();
        shared.word.fetch_add(1, Ordering::Release);
        let woken = futex::wake(&shared.word);
        let called = origin.elapsed();
        spin_until(|| shared.ran_at.load(Ordering::Acquire) > 0)?;
        if woken == 1 {
            let ran_at = shared.ran_at.load(Ordering::Relaxed);
            return Ok(Woken {
                latency: Duration::from_nanos(ran_at).saturating_sub(begun),
                call: called - begun,
            });
        }
    }
    bail!("the thread was not asleep in {MOST_IN_VAIN} attempts: raise --slept")
}

fn spin_until(is_so: impl Fn() -> bool) -> Result<(), Interrupted> {
    while !is_so() {
        if signals::received().is_some() {
            return Err(Interrupted);
        }
        spin_loop();
    }
    Ok(())
}
