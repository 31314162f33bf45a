//! Processes that are forked by a program and run on in it.
//!
//! A child leaves the signals that end a run to its parent (a terminal sends them to all), and ends by
//! `_exit`, which runs nothing that the parent has prepared for its own end. When the parent ends, for
//! whatever reason, the kernel ends the child.

#![expect(unsafe_code, reason = "processes are forked")]

use std::io;
use std::panic::{self, AssertUnwindSafe};

use contract::signals;
use nix::sys::prctl;
use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use nix::unistd::{self, ForkResult, Pid, getpid, getppid};

/// Forks a child that runs `life` and ends with the status that it returns. `life` is told whether the
/// child was detached from its parent's signals; if not, it ends the child at once.
///
/// # Safety
/// The process has one thread: another could be in the middle of a change, or hold a lock that nobody in
/// the child would ever release.
pub unsafe fn fork(life: impl FnOnce(nix::Result<()>) -> i32) -> io::Result<Pid> {
    let parent = getpid();
    // No signal may run the parent's handlers in the child.
    let mask = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    // SAFETY: the caller promises that there is one thread, so the child may do all that its parent may.
    match unsafe { unistd::fork() } {
        Ok(ForkResult::Child) => {
            let status = panic::catch_unwind(AssertUnwindSafe(|| life(detach(parent, mask))));
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
