//! Where the two sides run, the process that keeps a CPU busy, and the steps of a run.

#![expect(unsafe_code, reason = "processes are forked")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, ensure};
use brigade::process::{self, Forked};
use brigade::{allowed_cpus, restrict};
use clap::ValueEnum;
use contract::{BadUsage, Pass, Run, Step};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, raise};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use runtime::join;
use tokio::runtime::Runtime;
use tokio::sync::Mutex;

use crate::Cli;

/// Where the side that an operation wakes runs; see the first lines of main.rs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OtherSide {
    /// nowhere else: the task or thread that signals also waits
    None,
    /// in a task of the same runtime, or in a thread on the same CPU
    SameCpu,
    /// on another CPU that is idle
    IdleCpu,
    /// on another CPU that a process keeps busy
    BusyCpu,
}

impl OtherSide {
    fn is_apart(self) -> bool {
        matches!(self, OtherSide::IdleCpu | OtherSide::BusyCpu)
    }
}

/// Start and end of an iteration.
pub(crate) type Times = (Instant, Instant);

/// The task that makes the iterations of a row.
pub(crate) trait TaskDriver: Send + 'static {
    /// Makes an iteration.
    fn iterate(&mut self) -> impl Future<Output = anyhow::Result<Times>> + Send;
}

/// CPUs of both sides.
#[derive(Debug)]
pub(crate) struct Place {
    /// CPU of this thread, unless the kernel decides.
    here: Option<usize>,
    /// CPU of the other side's thread, if it is a different one.
    pub(crate) there: Option<usize>,
    /// Process that computes there while a pass is timed.
    busy: Option<Forked>,
}

impl Place {
    /// Places this thread. Call it before there are others.
    pub(crate) fn new(cli: &Cli) -> anyhow::Result<Self> {
        let (cpus, other) = (allowed_cpus()?, cli.other_side);
        if other.is_apart() && cpus.len() < 2 {
            return Err(BadUsage::new(
                "--other-side: idle-cpu and busy-cpu need two CPUs, but this process may use only one: use same-cpu, or allow more by taskset(1)",
            ));
        }
        let is_placed = other == OtherSide::SameCpu || other.is_apart();
        let mut place = Place {
            here: is_placed.then(|| cpus[0]),
            there: other.is_apart().then(|| cpus[1]),
            busy: None,
        };
        if let Some(cpu) = place.there.filter(|_| other == OtherSide::BusyCpu) {
            let busy = compute_on(cpu).context("cannot start a process that keeps a CPU busy")?;
            await_stop(&busy)?;
            place.busy = Some(busy);
        }
        place.back()?;
        Ok(place)
    }

    /// Restricts this thread to its CPU again.
    pub(crate) fn back(&self) -> anyhow::Result<()> {
        let back = self.here.map_or(Ok(()), |cpu| restrict(&[cpu]));
        back.context("cannot pin a thread to its CPU")
    }

    /// Has `drive` do each pass while that CPU is kept busy, and `rest` each rest with N waiters.
    pub(crate) fn serve(
        &self,
        run: &mut Run,
        rest: impl Fn(&mut Run) -> anyhow::Result<()>,
        mut drive: impl FnMut(Pass) -> anyhow::Result<Pass>,
    ) -> anyhow::Result<()> {
        while let Some(step) = run.next_step()? {
            match step {
                Step::Hold => rest(run)?,
                Step::Pass(pass) => {
                    self.tell(Signal::SIGCONT)?;
                    let driven = drive(*pass);
                    self.tell(Signal::SIGSTOP)?;
                    run.finish(driven?)?;
                }
            }
        }
        Ok(())
    }

    /// The same by a thread, which nobody waits for at rest: times each iteration of this thread's.
    pub(crate) fn serve_thread(
        &self,
        run: &mut Run,
        mut iterate: impl FnMut() -> anyhow::Result<Times>,
    ) -> anyhow::Result<()> {
        self.serve(run, Run::held, |mut pass| {
            while pass.next_iteration().is_some() {
                let (begun, ended) = iterate()?;
                pass.record(ended - begun);
            }
            Ok(pass)
        })
    }

    /// The same by a task of the runtime.
    pub(crate) fn serve_task<D: TaskDriver>(
        &self,
        run: &mut Run,
        runtime: &Runtime,
        rest: impl Fn(&mut Run) -> anyhow::Result<()>,
        driver: &Arc<Mutex<D>>,
    ) -> anyhow::Result<()> {
        self.serve(run, rest, |mut pass| {
            let driver = Arc::clone(driver);
            runtime.block_on(join(runtime.spawn(async move {
                let driver = &mut *driver.lock().await;
                while pass.next_iteration().is_some() {
                    let (begun, ended) = driver.iterate().await?;
                    pass.record(ended - begun);
                }
                anyhow::Ok(pass)
            })))
        })
    }

    /// Lets the process go on, or stops it and waits until it is.
    fn tell(&self, signal: Signal) -> anyhow::Result<()> {
        if let Some(busy) = &self.busy {
            kill(busy.0, signal).context("cannot signal a process that keeps a CPU busy")?;
            if signal == Signal::SIGSTOP {
                await_stop(busy)?;
            }
        }
        Ok(())
    }
}

/// Waits until such a process has stopped, and leaves one that has ended to be awaited.
fn await_stop(busy: &Forked) -> anyhow::Result<()> {
    let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    let status = waitid(Id::Pid(busy.0), flags).context("waitid")?;
    ensure!(
        matches!(status, WaitStatus::Stopped(..)),
        "a process that keeps a CPU busy has ended: {status:?}"
    );
    Ok(())
}

/// Forks a process that computes on a CPU whenever it is not stopped, as it is at first.
fn compute_on(cpu: usize) -> anyhow::Result<Forked> {
    let life = || {
        let ready = restrict(&[cpu]).and_then(|()| share());
        let ready = ready.and_then(|()| raise(Signal::SIGSTOP));
        let mut number = u64::from(ready.is_ok());
        while number > 0 {
            number = black_box(number).wrapping_mul(number) | 1;
        }
        1
    };
    // SAFETY: no thread was started so far.
    Ok(Forked(unsafe { process::fork(life) }?))
}

/// Has the calling process share its CPU: under a real-time policy nobody else would get it.
fn share() -> nix::Result<()> {
    let ordinary = libc::sched_param { sched_priority: 0 };
    // SAFETY: the parameters are there during the call.
    Errno::result(unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const ordinary) })
        .map(drop)
}

/// A thing that both ends share.
pub(crate) fn shared<T>(value: T) -> (Arc<T>, Arc<T>) {
    let value = Arc::new(value);
    (Arc::clone(&value), value)
}
