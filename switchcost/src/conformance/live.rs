//! A program that runs, and how it ended.

use std::fmt;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use contract::message::Answer;
use nix::errno::Errno;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use serde_json::Value;

use crate::signals;

/// Variable that marks the processes of a run: children inherit it.
pub(super) const MARK: &str = "SWITCHCOST_CHECK_RUN";

/// Part of a line that a failure quotes, in characters.
const LONGEST_QUOTE: usize = 300;

/// Lines that a failure quotes at most.
const MOST_QUOTED: usize = 20;

/// Part of standard error that is read, in bytes.
const LONGEST_WORDS: u64 = 1 << 16;

/// Longest line of an answer, in bytes: 10,000 samples of 20 digits take 210,000.
const LONGEST_LINE: usize = 1 << 20;

/// Most lines that a program prints before it ends.
const MOST_LINES: usize = 10_000;

/// A program that runs, in a process group of its own.
#[derive(Debug)]
pub struct Live {
    child: Child,
    /// Its standard input; `None` once it is closed.
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: File,
    received: Vec<u8>,
    mark: String,
    label: String,
    patience: Duration,
    /// It and all that it had started are known to have ended.
    is_over: bool,
}

/// End of a run.
pub struct Exit {
    /// Exit status; `None` where a signal ended it.
    pub(crate) code: Option<i32>,
    /// Signal that ended it.
    pub(crate) signal: Option<i32>,
    /// Lines of standard output that nobody had read.
    pub(crate) stdout: Vec<String>,
    /// Beginning of standard error.
    pub(crate) stderr: String,
}

impl Live {
    pub(super) fn new(
        mut child: Child,
        stderr: File,
        mark: String,
        label: String,
        patience: Duration,
    ) -> anyhow::Result<Self> {
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let received = Vec::new();
        let live =
            Live { child, stdin, stdout, stderr, received, mark, label, patience, is_over: false };
        if let Some(stdin) = &live.stdin {
            // A program that reads nothing leaves no room in the pipe.
            fcntl(stdin, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
        }
        Ok(live)
    }

    /// Process of the program.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    /// Writes to its standard input. One that has ended is found out by what it does not answer.
    ///
    /// # Errors
    /// When it takes nothing in time.
    pub fn send(&mut self, text: impl AsRef<[u8]>) -> anyhow::Result<()> {
        let deadline = Instant::now() + self.patience;
        let mut stdin = self.stdin.as_ref().context("its input is closed")?;
        let mut rest = text.as_ref();
        while !rest.is_empty() {
            match stdin.write(rest) {
                Ok(written) => rest = &rest[written..],
                Err(e) if e.kind() == ErrorKind::BrokenPipe => break,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    self.await_pipe(stdin.as_fd(), PollFlags::POLLOUT, deadline)
                        .context("it does not read its input")?;
                }
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    /// Waits until a pipe is ready, or its other end is closed.
    fn await_pipe(
        &self,
        pipe: BorrowedFd<'_>,
        flags: PollFlags,
        deadline: Instant,
    ) -> anyhow::Result<()> {
        loop {
            ensure_uninterrupted()?;
            let left = deadline.saturating_duration_since(Instant::now());
            ensure!(!left.is_zero(), "no answer within {:?}: {}", self.patience, self.label);
            let mut fds = vec![PollFd::new(pipe, flags)];
            fds.extend(signals::descriptor().map(|fd| PollFd::new(fd, PollFlags::POLLIN)));
            match poll(&mut fds, PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)) {
                Ok(_) if fds[0].any().unwrap_or(false) => return Ok(()),
                Ok(_) | Err(Errno::EINTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Whether the program has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().is_ok_and(|status| status.is_some())
    }

    /// Closes the reading end of its standard output.
    pub(crate) fn drop_stdout(&mut self) {
        self.stdout = None;
    }

    /// Sends the program a signal.
    pub(crate) fn signal(&self, signal: Signal) -> anyhow::Result<()> {
        Ok(kill(self.pid(), signal)?)
    }

    /// Waits until the program catches or blocks a signal, has printed something, or has ended.
    pub(crate) fn await_handler(&self, signal: Signal) -> anyhow::Result<()> {
        let bit = 1_u64 << (signal as i32 - 1);
        until(self.patience, "it catches the signal", || {
            let status = fs::read_to_string(format!("/proc/{}/status", self.pid()));
            let Ok(status) = status else { return true };
            let field = |name| status.lines().find_map(|line| line.strip_prefix(name));
            let mask = |name| field(name).and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
            let has = |name| mask(name).is_some_and(|mask| mask & bit != 0);
            let is_over = || field("State:").is_some_and(|state| state.trim().starts_with('Z'));
            has("SigCgt:") || has("SigBlk:") || is_over() || self.has_printed()
        })
    }

    fn has_printed(&self) -> bool {
        let Some(stdout) = &self.stdout else { return false };
        let mut fds = [PollFd::new(stdout.as_fd(), PollFlags::POLLIN)];
        poll(&mut fds, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }

    /// Next line; `None` at the end of its output.
    fn line(&mut self, deadline: Instant) -> anyhow::Result<Option<String>> {
        loop {
            if let Some(end) = self.received.iter().position(|&b| b == b'\n') {
                let line = self.received.drain(..=end).take(end).collect();
                return Ok(Some(String::from_utf8(line)?));
            }
            ensure!(
                self.received.len() <= LONGEST_LINE,
                "a line of more than {LONGEST_LINE} bytes"
            );
            let Some(stdout) = &self.stdout else {
                return Ok(None);
            };
            self.await_pipe(stdout.as_fd(), PollFlags::POLLIN, deadline)?;
            let mut bytes = vec![0; 1 << 16];
            let read = nix::unistd::read(stdout, &mut bytes)?;
            if read == 0 {
                let rest = String::from_utf8(std::mem::take(&mut self.received))?;
                ensure!(rest.is_empty(), "a line without its end: '{rest}'");
                return Ok(None);
            }
            self.received.extend(&bytes[..read]);
        }
    }

    /// Next line as it is, and as an answer.
    pub(crate) fn answer_and_value(&mut self) -> anyhow::Result<(Answer, Value)> {
        let line = match self.line(Instant::now() + self.patience)? {
            Some(line) => line,
            None => bail!("it ended without an answer: {}", self.stderr()?),
        };
        let read = || Ok((serde_json::from_str(&line)?, serde_json::from_str(&line)?));
        read().map_err(|e: serde_json::Error| anyhow::anyhow!("no answer: {e}: {line}"))
    }

    /// Next answer.
    ///
    /// # Errors
    /// When there is none in time.
    pub fn answer(&mut self) -> anyhow::Result<Answer> {
        Ok(self.answer_and_value()?.0)
    }

    /// Sends a request and takes the answer to it.
    ///
    /// # Errors
    /// As [`Live::answer`].
    pub fn ask(&mut self, request: &str) -> anyhow::Result<Answer> {
        self.send(format!("{request}\n"))?;
        self.answer()
    }

    /// Waits until it is ready; returns its processes.
    ///
    /// # Errors
    /// As [`Live::answer`].
    pub fn ready(&mut self) -> anyhow::Result<Vec<i32>> {
        match self.answer()? {
            Answer::Ready { pids, .. } => Ok(pids),
            other => bail!("not ready: {other:?}"),
        }
    }

    /// Beginning of its standard error.
    fn stderr(&self) -> anyhow::Result<String> {
        let length = self.stderr.metadata()?.len().min(LONGEST_WORDS);
        let mut bytes = vec![0; length as usize];
        // Not by a read, which would move the place that the program writes to.
        self.stderr.read_exact_at(&mut bytes, 0)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Closes its input, reads the rest of its output, and waits for its end, and that of all that it
    /// has started.
    ///
    /// # Errors
    /// When it or another process goes on, or it crashed.
    pub fn finish(mut self) -> anyhow::Result<Exit> {
        self.stdin = None;
        self.wait()
    }

    /// The same with its input left open.
    pub(crate) fn wait(&mut self) -> anyhow::Result<Exit> {
        let deadline = Instant::now() + self.patience;
        let mut stdout = Vec::new();
        while let Some(line) = self.line(deadline)? {
            ensure!(stdout.len() < MOST_LINES, "it prints more than {MOST_LINES} lines");
            stdout.push(line);
        }
        let mut status = None;
        until(self.patience, "it ends", || {
            status = self.child.try_wait().ok().flatten();
            status.is_some()
        })
        .with_context(|| self.label.clone())?;
        let status = status.context("it has no status")?;
        let exit =
            Exit { code: status.code(), signal: status.signal(), stdout, stderr: self.stderr()? };
        ensure!(
            exit.code != Some(101) && !matches!(exit.signal, Some(4 | 6 | 7 | 8 | 11)),
            "it crashed: {exit:?}"
        );
        let mut left = Vec::new();
        until(self.patience, "no process is left", || {
            left = marked(&self.mark);
            left.is_empty()
        })
        .with_context(|| format!("{left:?} of {}", self.label))?;
        self.is_over = true;
        Ok(exit)
    }
}

/// A check that fails leaves nothing behind.
impl Drop for Live {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        // Once its status is taken, its number may be another group's.
        if !self.has_ended() {
            // It may end by itself before the signal.
            let _ = killpg(self.pid(), Signal::SIGKILL);
            let _ = self.child.wait();
        }
        // Those that have left the group, or begin while others end.
        for _ in 0..100 {
            let left = marked(&self.mark);
            if left.is_empty() {
                break;
            }
            for pid in left {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}

impl fmt::Debug for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => writeln!(f, "it ended with status {code}")?,
            (None, signal) => writeln!(f, "signal {} ended it", signal.unwrap_or(0))?,
        }
        let lines = self.stdout.iter().map(String::as_str);
        quote(f, '>', lines)?;
        quote(f, '!', self.stderr.lines())
    }
}

/// Writes the first of these lines, and the beginning of each.
fn quote<'a>(
    f: &mut fmt::Formatter<'_>,
    mark: char,
    mut lines: impl Iterator<Item = &'a str>,
) -> fmt::Result {
    for line in lines.by_ref().take(MOST_QUOTED) {
        let short: String = line.chars().take(LONGEST_QUOTE).collect();
        let dots = if short.len() < line.len() { " ..." } else { "" };
        writeln!(f, "  {mark} {short}{dots}")?;
    }
    match lines.count() {
        0 => Ok(()),
        more => writeln!(f, "  {mark} and {more} lines more"),
    }
}

impl Exit {
    /// Expects this exit status.
    ///
    /// # Errors
    /// When it is another.
    pub fn expect(self, code: i32) -> anyhow::Result<Self> {
        ensure!(self.code == Some(code), "not status {code}: {self:?}");
        Ok(self)
    }

    /// Expects these words on standard error.
    pub(crate) fn expect_words(self, words: &[&str]) -> anyhow::Result<Self> {
        for word in words {
            ensure!(self.stderr.contains(word), "'{word}' is missing: {self:?}");
        }
        Ok(self)
    }
}

/// Processes that are alive and inherited this mark.
fn marked(mark: &str) -> Vec<i32> {
    let mark = format!("{MARK}={mark}");
    let is_ours = |pid: &i32| {
        let variables = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        variables.split(|&b| b == 0).any(|word| word == mark.as_bytes())
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_ours).collect()
}

/// Waits until something is so.
pub(super) fn until(
    patience: Duration,
    what: &str,
    mut is_so: impl FnMut() -> bool,
) -> anyhow::Result<()> {
    let begun = Instant::now();
    while !is_so() {
        ensure_uninterrupted()?;
        ensure!(begun.elapsed() < patience, "never within {patience:?}: {what}");
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn ensure_uninterrupted() -> anyhow::Result<()> {
    ensure!(signals::received().is_none(), "interrupted");
    Ok(())
}

/// Threads of a process; none where it has ended.
pub fn threads(pid: i32) -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new("/proc").join(format!("{pid}/task")));
    let entries = entries.into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
