//! Processes that are forked by a program and run on in it.
//!
//! A child leaves the signals that end a run to its parent (a terminal sends them to all), and ends by
//! `_exit`, which runs nothing that the parent has prepared for its own end. When the parent ends, for
//! whatever reason, the kernel ends the child.

#![expect(unsafe_code, reason = "processes are forked")]

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::thread;
use std::time::Duration;

use host::signals;
use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{self, ForkResult, Pid, getpid, getppid};

/// Status of a child that panicked, or could not begin.
pub const FAILED: i32 = 255;

/// Forks a child that runs `life` and ends with the status that it returns.
///
/// # Safety
/// The process has one thread: another could be in the middle of a change, or hold a lock that nobody in
/// the child would ever release.
pub unsafe fn fork(life: impl FnOnce() -> i32) -> io::Result<Pid> {
    let parent = getpid();
    // No signal may run the parent's handlers in the child.
    let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    // SAFETY: the caller promises that there is one thread, so the child may do all that its parent may.
    match unsafe { unistd::fork() } {
        Ok(ForkResult::Child) => {
            let is_detached = detach(parent, mask).is_ok();
            let live = AssertUnwindSafe(|| if is_detached { life() } else { FAILED });
            let status = panic::catch_unwind(live);
            // SAFETY: it ends the process, and runs nothing of the parent's on the way.
            unsafe { libc::_exit(status.unwrap_or(FAILED)) }
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

/// A forked process that serves this one, for as long as this lives.
#[derive(Debug)]
pub struct Forked(pub Pid);

impl Forked {
    /// Adds to an error how the server ended, if it has.
    pub fn explain(&self, error: anyhow::Error) -> anyhow::Error {
        // Its connections are closed a moment before it can be awaited.
        thread::sleep(Duration::from_millis(100));
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        match waitid(Id::Pid(self.0), flags) {
            Ok(WaitStatus::Exited(_, status)) => {
                error.context(format!("the server ended with status {status}"))
            }
            Ok(WaitStatus::Signaled(_, signal, _)) => {
                error.context(format!("the server was killed by {signal}"))
            }
            _ => error,
        }
    }
}

impl Drop for Forked {
    fn drop(&mut self) {
        // It fails if the child has ended by itself, which is awaited all the same.
        let _ = kill(self.0, Signal::SIGKILL);
        let _ = waitpid(self.0, None);
    }
}

fn detach(parent: Pid, mask: SigSet) -> nix::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    if getppid() != parent {
        // It ended before the kernel was asked to tell.
        // SAFETY: as in `fork`; nobody is left to report to.
        unsafe { libc::_exit(0) };
    }
    signals::leave_to_parent()?;
    mask.thread_set_mask()
}
