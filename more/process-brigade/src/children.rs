//! The processes of a chain: forked, awaited, never left behind.
//!
//! A child prints nothing. Through one pipe it says that it runs, and through another, at its end, how many
//! tokens it passed on or why it failed.

#![expect(unsafe_code, reason = "processes are forked")]

use std::collections::HashMap;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::panic::{self, AssertUnwindSafe};

use anyhow::{Context, anyhow};
use brigade::{StartGuard, StartLatch, process};
use contract::console;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

/// Time between two looks for a signal, in ms.
const LOOK_MS: u16 = 50;

/// Longest text of a report, in bytes: a line that is written at once and stays whole (PIPE_BUF).
const LONGEST: usize = 4000;

#[derive(Debug)]
pub(crate) struct Children {
    /// In the order of the chain.
    forked: Vec<Pid>,
    latch: StartLatch,
    starts: PipeReader,
    reports: PipeReader,
    /// The ends that children inherit; closed when all are forked.
    inherited: Option<(PipeWriter, PipeWriter)>,
}

/// A child's way to tell that it runs. If it ends before it has, the kernel closes the pipe.
#[derive(Debug)]
pub(crate) struct ChildGuard {
    guard: StartGuard,
    starts: PipeWriter,
}

impl ChildGuard {
    pub(crate) fn started(mut self) -> io::Result<()> {
        self.guard.started();
        self.starts.write_all(&[1])
    }
}

impl Children {
    pub(crate) fn new(tasks: u32) -> anyhow::Result<Self> {
        let (starts, to_starts) = io::pipe().context("cannot make the pipe of starts")?;
        let (reports, to_reports) = io::pipe().context("cannot make the pipe of reports")?;
        Ok(Children {
            forked: Vec::with_capacity(tasks as usize),
            latch: StartLatch::new(tasks),
            starts,
            reports,
            inherited: Some((to_starts, to_reports)),
        })
    }

    /// Forks the next process of the chain, which runs `task`.
    pub(crate) fn fork(
        &mut self,
        task: impl FnOnce(ChildGuard) -> io::Result<u64>,
    ) -> io::Result<()> {
        let place = self.forked.len();
        let life = |detached: nix::Result<()>| {
            let Some((starts, mut reports)) = self.inherited.take() else { return 1 };
            let result = panic::catch_unwind(AssertUnwindSafe(|| {
                detached?;
                task(ChildGuard { guard: self.latch.guard().map_err(io::Error::other)?, starts })
            }));
            i32::from(reports.write_all(report(place, result).as_bytes()).is_err())
        };
        // SAFETY: this process has one thread.
        let child = unsafe { process::fork(life) }?;
        self.forked.push(child);
        Ok(())
    }

    pub(crate) fn pids(&self) -> Vec<i32> {
        self.forked.iter().map(|pid| pid.as_raw()).collect()
    }

    pub(crate) fn wait_for_start(&mut self) -> anyhow::Result<()> {
        // Now only children that have not started hold it: when they are gone, the pipe ends.
        self.inherited = None;
        let mut started = [0; 4096];
        while !self.latch.is_open()? {
            let mut fds = [PollFd::new(self.starts.as_fd(), PollFlags::POLLIN)];
            match poll(&mut fds, PollTimeout::from(LOOK_MS)) {
                Ok(0) | Err(Errno::EINTR) => continue,
                other => other.context("cannot wait for the tasks")?,
            };
            match self.starts.read(&mut started)? {
                0 => drop(self.latch.guard()?),
                count => {
                    (0..count).try_for_each(|_| self.latch.guard().map(StartGuard::started))?
                }
            }
        }
        Ok(())
    }

    /// Awaits every process. Returns how many tokens each passed on, or why it failed.
    pub(crate) fn join(mut self) -> anyhow::Result<Vec<anyhow::Result<u64>>> {
        self.inherited = None;
        let text = io::read_to_string(self.reports).context("cannot read the tasks' reports")?;
        let mut reports: HashMap<usize, _> = text.lines().filter_map(parse).collect();
        let forked = self.forked.into_iter().enumerate();
        Ok(forked.map(|(place, pid)| end(pid, reports.remove(&place))).collect())
    }
}

/// How a process ended, with the report that it left.
fn end(pid: Pid, report: Option<anyhow::Result<u64>>) -> anyhow::Result<u64> {
    match waitpid(pid, None).context("cannot wait for a child")? {
        WaitStatus::Signaled(_, Signal::SIGKILL, _) => {
            Err(anyhow!("killed by SIGKILL: by hand, or by the kernel when memory ran out"))
        }
        WaitStatus::Signaled(_, signal, _) => Err(anyhow!("killed by {signal}")),
        status => report.unwrap_or_else(|| Err(anyhow!("ended without a report: {status:?}"))),
    }
}

/// Line that a process leaves behind: its place, and the tokens that it passed on, an errno, or a text.
fn report(place: usize, result: std::thread::Result<io::Result<u64>>) -> String {
    let error = match result {
        Ok(Ok(passed)) => return format!("{place} passed {passed}\n"),
        Ok(Err(e)) => match e.raw_os_error() {
            Some(errno) => return format!("{place} errno {errno}\n"),
            None => e.to_string(),
        },
        Err(panic) => console::panic_error(&*panic).to_string(),
    };
    let error = &error[..error.floor_char_boundary(LONGEST)];
    format!("{place} failed {}\n", error.replace('\n', " "))
}

fn parse(line: &str) -> Option<(usize, anyhow::Result<u64>)> {
    let mut parts = line.splitn(3, ' ');
    let place = parts.next()?.parse().ok()?;
    let result = match (parts.next()?, parts.next()?) {
        ("passed", count) => Ok(count.parse().ok()?),
        ("errno", errno) => Err(io::Error::from_raw_os_error(errno.parse().ok()?).into()),
        (_, text) => Err(anyhow!("{text}")),
    };
    Some((place, result))
}
