//! Processes that are forked by a program, run on in it, and are never left behind.
//!
//! A child is a copy of its parent: it must not act as if it was the parent. So it leaves the signals
//! that ask to stop alone (a terminal sends them to all), and ends by `_exit`, which runs nothing of
//! what the parent has prepared for its own end. If the parent is gone, whatever has ended it, the
//! kernel ends the child.

#![expect(unsafe_code, reason = "processes are forked")]

use std::io;
use std::panic::{self, AssertUnwindSafe};

use anyhow::{Context, anyhow};
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, sigaction};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getpid, getppid};

use crate::signals;

/// Sees to it that children can be awaited: as a parent may have left it, they would vanish before.
///
/// # Errors
/// What sigaction(2) reports.
pub fn keep_the_ended() -> nix::Result<()> {
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    // SAFETY: no handler is set.
    unsafe { sigaction(Signal::SIGCHLD, &default) }.map(drop)
}

/// Forks a child that lives `life` and ends with the status that this returns. It is told whether
/// the child could be parted from its parent; where it could not, it has to end at once.
///
/// # Errors
/// Those of fork(2): `EAGAIN` where a limit of processes is met, `ENOMEM` where memory is.
///
/// # Safety
/// The process has one thread: else another may be in the midst of a change, or hold a lock that
/// nobody in the child would ever release.
pub unsafe fn fork_off(life: impl FnOnce(nix::Result<()>) -> i32) -> io::Result<Pid> {
    let parent = getpid();
    // Until the child has left them to the parent, no signal may run the parent's handlers.
    let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    // SAFETY: the caller promises that there is one thread, so that the child may do all that its
    // parent may.
    match unsafe { fork() } {
        Ok(ForkResult::Child) => {
            let status = panic::catch_unwind(AssertUnwindSafe(|| life(settle_in(parent, mask))));
            // SAFETY: it ends the process, and runs nothing of the parent's on the way.
            unsafe { libc::_exit(status.unwrap_or(1)) }
        }
        Ok(ForkResult::Parent { child }) => {
            mask.thread_set_mask()?;
            Ok(child)
        }
        Err(e) => {
            mask.thread_set_mask()?;
            Err(e.into())
        }
    }
}

/// What tells a child from its parent.
fn settle_in(parent: Pid, mask: SigSet) -> nix::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    if getppid() != parent {
        // It has ended before the kernel was asked to tell.
        // SAFETY: as in `fork_off`; nobody is left to report to.
        unsafe { libc::_exit(0) };
    }
    signals::leave_to_parent()?;
    mask.thread_set_mask()
}

/// Waits for the end of a child.
///
/// # Errors
/// What waitpid(2) reports.
pub fn await_end(child: Pid) -> anyhow::Result<WaitStatus> {
    wait(child, None)
}

/// How a child has ended; `None` where it has not. It is gone then: its number may be another's.
///
/// # Errors
/// What waitpid(2) reports.
pub fn end_so_far(child: Pid) -> anyhow::Result<Option<WaitStatus>> {
    Ok(match wait(child, Some(WaitPidFlag::WNOHANG))? {
        WaitStatus::StillAlive => None,
        status => Some(status),
    })
}

fn wait(child: Pid, flags: Option<WaitPidFlag>) -> anyhow::Result<WaitStatus> {
    loop {
        match waitpid(child, flags) {
            Err(Errno::EINTR) => {}
            Err(e) => return Err(e).context("cannot wait for its end"),
            Ok(status) => return Ok(status),
        }
    }
}

/// What is told of a child that a signal has ended.
pub fn killed_by(signal: Signal) -> anyhow::Error {
    let number = signal as i32;
    match signal {
        Signal::SIGKILL => {
            anyhow!("killed by {signal} ({number}): by hand, or by the kernel for want of memory")
        }
        _ => anyhow!("killed by {signal} ({number})"),
    }
}
