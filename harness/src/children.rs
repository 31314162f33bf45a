//! Child processes that never outlive their parent, and no longer than they may.

#![expect(unsafe_code, reason = "a child is prepared between fork and exec")]

use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use crate::{console, policy, signals};

/// How long a child that is asked to end may take over it before it is killed.
pub const GRACE: Duration = Duration::from_secs(10);

/// Which signals of the terminal a child receives, and who else receives what is sent to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// A process group of its own: a signal reaches the child and all that it has started.
    Own,
    /// The group of this process: the child may read from the terminal, and Ctrl-C reaches it.
    Shared,
}

/// How a child ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Its status.
    pub status: ExitStatus,
    /// What it took to end it, where it had not ended in time.
    pub overdue: Option<Overdue>,
}

/// What it takes to end a child whose time is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overdue {
    /// SIGTERM was enough.
    Asked,
    /// It did not end within [`GRACE`] of that, and was killed.
    Killed,
}

/// Runs a command until it ends, asleep meanwhile. A signal that asks this process to stop asks
/// the child too, and if this process is killed, so is the child. After `timeout`, if there is
/// one, the child is asked to end, and killed if it does not. It runs under the scheduling policy
/// that this process was started with.
///
/// # Errors
/// When the command cannot be started or awaited.
pub fn run(command: &mut Command, group: Group, timeout: Option<Duration>) -> io::Result<Ended> {
    if group == Group::Own {
        command.process_group(0);
    }
    let scheduling = policy::of_children();
    // SAFETY: prctl and sched_setscheduler are async-signal-safe and touch no memory of ours. The
    // only failure of the first would be an unknown signal.
    unsafe {
        command.pre_exec(move || {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            match scheduling {
                Some(scheduling) => Ok(scheduling.apply()?),
                None => Ok(()),
            }
        });
    }
    let mut child = command.spawn()?;
    let id = child.id() as i32;
    let target = match group {
        // kill(2) takes a group as a negative number.
        Group::Own => -id,
        Group::Shared => id,
    };
    let relay = signals::Relay::to(target);
    let overdue = match timeout.map(|timeout| end_in_time(&child, target, timeout)) {
        None => None,
        Some(Ok(overdue)) => overdue,
        Some(Err(e)) => {
            // A kernel before 5.3, or a sandbox: a run without a time-out is better than none.
            console::say(format_args!("cannot watch the time of a child: {e}"));
            None
        }
    };
    // Until its status is taken, its number is nobody else's: nothing is sent to that afterwards.
    while waitid(Id::Pid(Pid::from_raw(id)), ended_but_kept()) == Err(Errno::EINTR) {}
    drop(relay);
    let status = child.wait()?;
    Ok(Ended { status, overdue })
}

fn ended_but_kept() -> WaitPidFlag {
    WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT
}

/// Waits for the end of a child, and brings it about when its time is up.
fn end_in_time(child: &Child, target: i32, timeout: Duration) -> nix::Result<Option<Overdue>> {
    let end = End::of(child)?;
    if end.comes_within(timeout)? {
        return Ok(None);
    }
    send(target, Signal::SIGTERM);
    if end.comes_within(GRACE)? {
        return Ok(Some(Overdue::Asked));
    }
    send(target, Signal::SIGKILL);
    Ok(Some(Overdue::Killed))
}

fn send(target: i32, signal: Signal) {
    // It can only fail where the child has ended, and then nothing is left to be done.
    let _ = kill(Pid::from_raw(target), signal);
}

/// A descriptor that can be read once a child has ended: pidfd_open(2), which sets close-on-exec.
struct End(OwnedFd);

impl End {
    fn of(child: &Child) -> nix::Result<Self> {
        // SAFETY: the call takes two numbers and touches no memory.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
        let fd = Errno::result(fd)? as i32;
        // SAFETY: the call has just made this descriptor, and nobody else knows of it.
        Ok(End(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Whether the child ends before `timeout` is over.
    fn comes_within(&self, timeout: Duration) -> nix::Result<bool> {
        let begun = Instant::now();
        loop {
            let left = timeout.saturating_sub(begun.elapsed());
            let ms = left.as_nanos().div_ceil(1_000_000);
            let ms = i32::try_from(ms).unwrap_or(i32::MAX);
            let mut fds = [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)];
            let wait = PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX);
            match poll(&mut fds, wait) {
                Ok(0) if left.is_zero() => return Ok(false),
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => return Ok(true),
                Err(e) => return Err(e),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    fn sh(script: &str, timeout: Option<Duration>) -> Ended {
        let mut command = Command::new("sh");
        command.arg("-c").arg(script);
        run(&mut command, Group::Own, timeout).unwrap()
    }

    #[test]
    fn a_child_that_ends_in_time_is_left_alone() {
        for timeout in [None, Some(Duration::from_secs(60)), Some(Duration::MAX)] {
            let ended = sh("exit 3", timeout);
            assert_eq!((ended.status.code(), ended.overdue), (Some(3), None));
        }
    }

    #[test]
    fn a_child_that_does_not_is_asked_to_end() {
        for script in ["sleep 100", "sleep 100; true"] {
            let ended = sh(script, Some(Duration::from_millis(100)));
            assert_eq!(ended.overdue, Some(Overdue::Asked), "{script}");
            assert_eq!(ended.status.signal(), Some(libc::SIGTERM), "{script}");
        }
    }
}
