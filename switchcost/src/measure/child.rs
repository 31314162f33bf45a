//! A live program in a process group of its own, from its start to its end: never longer than it may live,
//! and its end takes the whole group with it.

#![expect(unsafe_code, reason = "nix has no pidfd_open(2)")]

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::iter;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{self, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context;
use host::strays::{self, Process};
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{self, Signal, killpg};
use nix::unistd::{Pid, getpgid};

use crate::system::oom_killer;
use crate::system::signals;

mod ended;
mod left;
mod patience;

pub use ended::Ended;
pub(crate) use left::end_what_is_left;
pub(crate) use patience::Patience;

/// Longest line of an answer, in bytes: 10,000 samples of 20 digits take 210,000.
const LONGEST_LINE: usize = 16 << 20;

/// Bytes of a request that are quoted.
const MOST_QUOTED: usize = 40;

/// Bytes of standard error that are kept.
const KEPT: usize = 64 << 10;

/// Reads that empty any pipe which nobody writes to any more; one that somebody fills again is left.
const MOST_READS: usize = 1024;

/// A program that is alive, with whatever it starts. What it writes while others have their turns stays in its
/// pipes, so that the runner sleeps.
#[derive(Debug)]
pub(crate) struct Child {
    child: process::Child,
    /// Becomes readable when the program has ended (pidfd_open(2)).
    pidfd: OwnedFd,
    stdin: Option<ChildStdin>,
    /// Its standard output; `None` if somebody else has it.
    stdout: Option<BufReader<ChildStdout>>,
    /// Its standard error; `None` once all writers have closed it.
    stderr: Option<ChildStderr>,
    /// Start of a line; its newline is still to come.
    partial: Vec<u8>,
    words: Vec<u8>,
    awaited: String,
    patience: Patience,
    kills: Vec<(String, u64)>,
    is_over: bool,
}

impl Child {
    /// Starts a command, with pipes to this runner as its input and outputs.
    pub(crate) fn spawn(mut command: Command, limit: Duration) -> anyhow::Result<Self> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        left::prepare().context("cannot adopt what a child leaves running")?;
        let kills = oom_killer::kills();
        let mut child = command.spawn()?;
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let pipes = [
            stdin.as_ref().map(AsFd::as_fd),
            stdout.as_ref().map(AsFd::as_fd),
            stderr.as_ref().map(AsFd::as_fd),
        ];
        let pidfd = match watch(&child, pipes) {
            Ok(pidfd) => pidfd,
            Err(e) => {
                child.kill()?;
                child.wait()?;
                return Err(e).context(
                    "cannot watch a child: that needs Linux 5.3 or later (pidfd_open(2))",
                );
            }
        };
        left::note_start(child.id() as i32);
        Ok(Child {
            child,
            pidfd,
            stdin,
            stdout: stdout.map(BufReader::new),
            stderr,
            partial: Vec::new(),
            words: Vec::new(),
            awaited: "its first line".to_owned(),
            patience: Patience::new(limit),
            kills,
            is_over: false,
        })
    }

    /// Writes requests to its standard input. A program that has ended, or does not read in time, is found out by its
    /// missing answer.
    ///
    /// # Errors
    /// Any but a closed pipe.
    pub(crate) fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let requests = String::from_utf8_lossy(&bytes[..bytes.len().min(MOST_QUOTED)]);
        self.awaited = format!("the answer to `{}`", requests.trim().replace('\n', ", "));
        self.patience.renew();
        while let Some(stdin) = &mut self.stdin
            && !bytes.is_empty()
        {
            match stdin.write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(e) if e.kind() == ErrorKind::BrokenPipe => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    if self.wait(true)? {
                        break;
                    }
                }
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    /// Time that it may take to answer or to end.
    pub(crate) fn limit(&self) -> Duration {
        self.patience.limit
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    /// Whether a process is the program, or one that it has started.
    pub(crate) fn owns(&self, pid: i32) -> bool {
        let group = self.pid();
        // What has left the group has its parents.
        let mut ancestors = iter::successors(Some(pid).filter(|&pid| pid > 0), |&pid| {
            Some(Process::with_pid(pid)?.parent)
        });
        ancestors.any(|pid| pid == group.as_raw() || getpgid(Some(Pid::from_raw(pid))) == Ok(group))
    }

    /// Processes of its group.
    pub(crate) fn members(&self) -> io::Result<Vec<i32>> {
        let group = self.pid().as_raw();
        let processes = strays::processes()?.into_iter();
        Ok(processes.filter(|process| process.group == group).map(|process| process.pid).collect())
    }

    /// Closes the reading end of its standard output.
    pub(crate) fn drop_stdout(&mut self) {
        self.stdout = None;
    }

    /// Closes its standard input.
    pub(crate) fn close_input(&mut self) {
        self.stdin = None;
    }

    /// The next line of its standard output, the last one with or without its newline; `None` if it has ended.
    pub(crate) fn line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut has_ended = false;
        while let Some(stdout) = &mut self.stdout {
            let room = (LONGEST_LINE - self.partial.len()) as u64;
            match stdout.take(room).read_until(b'\n', &mut self.partial) {
                Ok(_) if self.partial.last() == Some(&b'\n') => {
                    self.partial.pop();
                    return Ok(Some(std::mem::take(&mut self.partial)));
                }
                Ok(_) if self.partial.len() >= LONGEST_LINE => {
                    return Err(io::Error::other(format!(
                        "it printed a line of more than {} MiB",
                        LONGEST_LINE >> 20
                    )));
                }
                Ok(_) => self.stdout = None,
                // Others of the group may hold the pipe open.
                Err(e) if e.kind() == ErrorKind::WouldBlock && has_ended => break,
                Err(e) if e.kind() == ErrorKind::WouldBlock => has_ended = self.wait(false)?,
                Err(e) => return Err(e),
            }
        }
        while !self.wait(false)? {}
        Ok(Some(std::mem::take(&mut self.partial)).filter(|rest| !rest.is_empty()))
    }

    /// Sleeps until the program has ended (true), or until it may have output, or room for a request. Ends it when its
    /// time is up, or when the runner is to stop.
    fn wait(&mut self, for_room: bool) -> io::Result<bool> {
        // In this order: a request that comes after the look leaves its byte in the pipe.
        signals::drain();
        // What SIGKILL does not end cannot be awaited.
        let due = self.patience.press(signals::requests()).inspect_err(|_| self.is_over = true)?;
        self.send(due);
        let left = self.patience.left() + Duration::from_millis(1);
        let left = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        let mut fds = vec![readable(self.pidfd.as_fd())];
        fds.extend(self.stderr.as_ref().map(|pipe| readable(pipe.as_fd())));
        fds.extend(signals::descriptor().map(readable));
        if for_room {
            let input = self.stdin.as_ref();
            fds.extend(input.map(|pipe| PollFd::new(pipe.as_fd(), PollFlags::POLLOUT)));
        } else {
            fds.extend(self.stdout.as_ref().map(|pipe| readable(pipe.get_ref().as_fd())));
        }
        match poll(&mut fds, left) {
            Ok(_) => {}
            Err(Errno::EINTR) => return Ok(false),
            Err(e) => return Err(e.into()),
        }
        let has_ended = fds[0].any().unwrap_or(false);
        self.read_words()?;
        Ok(has_ended)
    }

    /// Reads some of its standard error, if there is any; false if there is none.
    fn read_words(&mut self) -> io::Result<bool> {
        let Some(stderr) = &mut self.stderr else { return Ok(false) };
        let mut bytes = [0; 4096];
        match stderr.read(&mut bytes) {
            Ok(0) => self.stderr = None,
            Ok(n) => {
                self.words.extend_from_slice(&bytes[..n]);
                self.words.drain(..self.words.len().saturating_sub(KEPT));
                return Ok(true);
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(e) => return Err(e),
        }
        Ok(false)
    }

    /// Whether it took longer than it may, and was asked to end.
    pub(crate) fn is_overdue(&self) -> bool {
        self.patience.is_overdue()
    }

    /// Closes its standard input for a reason of the runner's own, and leaves it a while to end.
    pub(crate) fn give_up(&mut self) {
        self.close_input();
        self.patience.give_up();
    }

    /// Sends signals to the group, and to a program that has left it. It can only fail if they have ended.
    fn send(&self, signals: &[Signal]) {
        let pid = self.pid();
        for &signal in signals {
            let _ = killpg(pid, signal);
            if getpgid(Some(pid)).is_ok_and(|group| group != pid) {
                let _ = signal::kill(pid, signal);
            }
        }
    }

    /// Closes its standard input, waits for its end, and ends whatever it has left behind.
    pub(crate) fn end(&mut self) -> io::Result<Ended> {
        if self.patience.renew() {
            self.awaited = "its end".to_owned();
        }
        self.close_input();
        let mut bytes = [0; 1 << 16];
        while !self.wait(false)? {
            let Some(stdout) = &mut self.stdout else { continue };
            match stdout.read(&mut bytes) {
                // It has closed its output and goes on.
                Ok(0) => self.stdout = None,
                Ok(_) => {}
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                Err(e) => return Err(e),
            }
        }
        let (status, left) = self.reap()?;
        for _ in 0..MOST_READS {
            if !self.read_words()? {
                break;
            }
        }
        let mut ended = Ended {
            is_overdue: self.is_overdue(),
            is_interrupted: !self.is_overdue() && is_interrupted(status),
            fault: self.fault(status),
            words: String::from_utf8_lossy(&self.words).trim().to_owned(),
            status,
            left,
            error: None,
            lines: Vec::new(),
        };
        if !ended.is_interrupted && (ended.fault.is_some() || !status.success()) {
            ended.error = Some(ended.reason());
        }
        Ok(ended)
    }

    /// Ends the group and all processes that have left it; returns the status and the names of those processes. Until
    /// the status is taken, nobody else can get the group's number.
    fn reap(&mut self) -> io::Result<(ExitStatus, Option<String>)> {
        self.send(&[Signal::SIGKILL]);
        self.is_over = true;
        let status = self.child.wait()?;
        Ok((status, left::end_what_is_left_of(self.child.id() as i32)?))
    }

    /// Why it was ended from outside.
    fn fault(&self, status: ExitStatus) -> Option<String> {
        if self.is_overdue() {
            return Some(self.patience.timeout(&self.awaited));
        }
        let is_interrupted = signals::received().is_some();
        // The runner itself may kill what it has asked to end: that is no cause from outside, unless the user interrupted.
        let number = status.signal().filter(|_| !self.patience.is_asked || is_interrupted)?;
        let name = Signal::try_from(number).map_or("unknown", Signal::as_str);
        let killed = format!("killed by signal {number} ({name})");
        let out_of_memory = oom_killer::kills_since(&self.kills);
        Some(match out_of_memory.filter(|_| number == Signal::SIGKILL as i32) {
            Some(cause) => format!("{killed}: {cause}"),
            None if is_interrupted => format!("{killed} after an interrupt"),
            None => killed,
        })
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if !self.is_over {
            // Nobody is left to be told of what fails here.
            let _ = self.reap();
        }
    }
}

/// Whether it ended since the runner was asked to. One that does not take SIGTERM over is ended by it.
fn is_interrupted(status: ExitStatus) -> bool {
    let is_own = status.code().is_some() || status.signal() == Some(Signal::SIGTERM as i32);
    signals::received().is_some() && is_own
}

/// A descriptor that can be read once a child has ended; pidfd_open(2) sets close-on-exec. Its pipes never block
/// the runner.
fn watch(child: &process::Child, pipes: [Option<BorrowedFd<'_>>; 3]) -> io::Result<OwnedFd> {
    for pipe in pipes.into_iter().flatten() {
        fcntl(pipe, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
    }
    // SAFETY: the call takes two numbers and touches no memory.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, child.id(), 0) };
    let fd = Errno::result(fd)? as i32;
    // SAFETY: the call has just made this descriptor, and nobody else knows of it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn readable(fd: BorrowedFd<'_>) -> PollFd<'_> {
    PollFd::new(fd, PollFlags::POLLIN)
}

#[cfg(test)]
mod tests;
