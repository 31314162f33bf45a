//! The processes of a chain: forked, awaited, never left behind.
//!
//! A child prints nothing. Through one pipe it says that it runs, and through another, at its end, how many
//! tokens it passed on or why it failed.

#![expect(unsafe_code, reason = "processes are forked")]

use std::collections::HashMap;
use std::io::{self, PipeReader, PipeWriter, Read, Write};

use anyhow::{Context, anyhow};
use brigade::process;
use nix::errno::Errno;
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::Pid;

#[derive(Debug)]
pub(crate) struct Children {
    /// In the order of the chain.
    forked: Vec<Pid>,
    starts: PipeReader,
    reports: PipeReader,
    /// The ends that children inherit; closed when all are forked.
    inherited: Option<(PipeWriter, PipeWriter)>,
}

/// A child's way to tell that it runs. If it ends before it has, the kernel closes the pipe.
#[derive(Debug)]
pub(crate) struct ChildGuard(PipeWriter);

impl ChildGuard {
    pub(crate) fn started(mut self) -> io::Result<()> {
        self.0.write_all(&[1])
    }
}

impl Children {
    pub(crate) fn new(tasks: u32) -> anyhow::Result<Self> {
        let (starts, to_starts) = io::pipe().context("cannot make the pipe of starts")?;
        let (reports, to_reports) = io::pipe().context("cannot make the pipe of reports")?;
        Ok(Children {
            forked: Vec::with_capacity(tasks as usize),
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
        let life = || {
            let Some((starts, mut reports)) = self.inherited.take() else { return 1 };
            let (passed, errno) = match task(ChildGuard(starts)) {
                Ok(passed) => (passed, 0),
                Err(error) => (0, error.raw_os_error().unwrap_or(Errno::EIO as i32)),
            };
            // At once, so that the line stays whole.
            let report = format!("{place} {passed} {errno}\n");
            i32::from(reports.write_all(report.as_bytes()).is_err())
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
        let mut started = vec![0; self.forked.len()];
        self.starts.read_exact(&mut started).context("a task ended before it had started")
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
        WaitStatus::Signaled(_, signal, _) => Err(anyhow!("killed by {signal}")),
        status => report.unwrap_or_else(|| Err(anyhow!("ended without a report: {status:?}"))),
    }
}

/// Reads the line that a process leaves behind: its place, the tokens that it passed on, and an errno or 0.
fn parse(line: &str) -> Option<(usize, anyhow::Result<u64>)> {
    let mut words = line.split(' ');
    let (place, passed) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let result = match words.next()?.parse().ok()? {
        0 => Ok(passed),
        errno => Err(io::Error::from_raw_os_error(errno).into()),
    };
    Some((place, result))
}
