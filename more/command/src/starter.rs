//! The process that starts the command, how it awaits a run, and what a run leaves behind.

#![expect(unsafe_code, reason = "nix has no wait4(2), and processes are forked")]

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::{self, ExitStatus};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use contract::Run;
use host::{signals, strays};
use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::{ForkResult, Pid, fork, getpid};

/// Goes on in a forked child, into which the kernel copies no page of a file. This process awaits its end, and passes
/// signals on to it.
pub(crate) fn go_on_in_a_child(run: &mut Run) -> Result<()> {
    let parent = getpid();
    let mask = signals::block().context("cannot block signals")?;
    // SAFETY: this process has one thread.
    match unsafe { fork() }.context("cannot fork")? {
        ForkResult::Parent { child } => process::exit(await_child(child)?),
        ForkResult::Child => {
            prctl::set_pdeathsig(Signal::SIGKILL)?;
            if Pid::parent() != parent {
                process::exit(1);
            }
            mask.thread_set_mask()?;
            signals::restore_for_commands()?;
            strays::adopt().context("cannot adopt what a command leaves running")?;
            run.set_measured(vec![getpid().as_raw()]);
            Ok(())
        }
    }
}

/// Status of the child, once it has ended.
fn await_child(child: Pid) -> Result<i32> {
    strays::adopt()?;
    loop {
        let signal = signals::next_blocked()?;
        if signal != Signal::SIGCHLD {
            // It may have ended meanwhile.
            let _ = kill(child, signal);
        }
        let status = match waitpid(child, Some(WaitPidFlag::WNOHANG))? {
            WaitStatus::Exited(_, status) => status,
            WaitStatus::Signaled(_, signal, _) => 128 + signal as i32,
            _ => continue,
        };
        // What it was running, if it was ended in the middle of a run.
        strays::end(|_| true)?;
        return Ok(status);
    }
}

/// Time that an ended process has to leave its CPU: the kernel counts that as a switch, but wakes its parent before.
const LEAVING: Duration = Duration::from_micros(100);

/// Awaits the end of a run.
pub(crate) fn wait(pid: i32) -> nix::Result<()> {
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
    waitid(Id::Pid(Pid::from_raw(pid)), flags).map(drop)
}

/// Takes the status of a run that has ended, and the largest resident set of one of its processes, in bytes.
pub(crate) fn reap(pid: i32) -> io::Result<(ExitStatus, u64)> {
    thread::sleep(LEAVING);
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: both places are there during the call.
    let reaped = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
    Errno::result(reaped)?;
    // SAFETY: the kernel has filled it.
    let usage = unsafe { usage.assume_init() };
    Ok((ExitStatus::from_raw(status), usage.ru_maxrss as u64 * 1024))
}

/// Largest resident set of this process so far, in bytes.
pub(crate) fn peak_bytes() -> Result<u64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).context("cannot read the usage")?;
    Ok(usage.max_rss().unsigned_abs() * 1024)
}

/// Ends what a run has left running; the names.
pub(crate) fn end_what_is_left() -> Result<Option<String>> {
    // One call tells that there is nothing, which is the rule.
    if waitpid(None, Some(WaitPidFlag::WNOHANG)) == Err(Errno::ECHILD) {
        return Ok(None);
    }
    let left = strays::end(|_| true).context("cannot end what the command left running")?;
    Ok((!left.is_empty()).then(|| strays::names(&left)))
}
