//! A run of a program that is checked: a session whose every wait is bounded, and how it ended.

use std::fmt;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use contract::message::Answer;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::measure::session::Session;
use crate::system::signals;

/// Variable that marks the processes of a run: children inherit it.
pub(super) const MARK: &str = "SWITCHCOST_CHECK_RUN";

/// Part of a line that a failure quotes, in characters.
const LONGEST_QUOTE: usize = 300;

/// Lines that a failure quotes at most.
const MOST_QUOTED: usize = 20;

/// Part of standard error that is read, in bytes.
const LONGEST_WORDS: u64 = 1 << 16;

/// Most lines that a program prints before it ends.
const MOST_LINES: usize = 10_000;

/// A program that runs.
#[derive(Debug)]
pub struct Live {
    session: Session,
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
    /// End of standard error.
    pub(crate) stderr: String,
}

impl Live {
    pub(super) fn new(session: Session, mark: String, label: String, patience: Duration) -> Self {
        Live { session, mark, label, patience, is_over: false }
    }

    /// Process of the program.
    pub(crate) fn pid(&self) -> Pid {
        self.session.pid()
    }

    /// Writes to its standard input. One that has ended is found out by what it does not answer.
    ///
    /// # Errors
    /// When it takes nothing in time.
    pub fn send(&mut self, text: impl AsRef<[u8]>) -> anyhow::Result<()> {
        ensure_uninterrupted()?;
        Ok(self.session.write(text.as_ref())?)
    }

    /// Whether the program has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.session.has_ended()
    }

    /// Closes the reading end of its standard output.
    pub(crate) fn drop_stdout(&mut self) {
        self.session.drop_stdout();
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
            has("SigCgt:") || has("SigBlk:") || is_over() || self.session.has_printed()
        })
    }

    /// Next line; `None` at the end of its output.
    fn line(&mut self) -> anyhow::Result<Option<String>> {
        let line = self.session.line_and_end()?;
        ensure_uninterrupted()?;
        ensure!(!self.session.is_overdue(), "no answer within {:?}: {}", self.patience, self.label);
        match line {
            Some((line, true)) => Ok(Some(String::from_utf8(line)?)),
            Some((rest, false)) => bail!("a line without its end: '{}'", String::from_utf8(rest)?),
            None => Ok(None),
        }
    }

    /// Next line as it is, and as an answer.
    pub(crate) fn answer_and_value(&mut self) -> anyhow::Result<(Answer, Value)> {
        self.session.be_patient();
        let line = match self.line()? {
            Some(line) => line,
            None => bail!("it ended without an answer: {}", self.session.words(LONGEST_WORDS)?),
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

    /// Closes its input, reads the rest of its output, and waits for its end, and that of all that it
    /// has started.
    ///
    /// # Errors
    /// When it or another process goes on, or it crashed.
    pub fn finish(mut self) -> anyhow::Result<Exit> {
        self.session.close_input();
        self.wait()
    }

    /// The same with its input left open.
    pub(crate) fn wait(&mut self) -> anyhow::Result<Exit> {
        self.session.be_patient();
        let mut stdout = Vec::new();
        while let Some(line) = self.line()? {
            ensure!(stdout.len() < MOST_LINES, "it prints more than {MOST_LINES} lines");
            stdout.push(line);
        }
        // Before anything is killed: what it leaves behind is a fault.
        let (own, mut left) = (self.pid().as_raw(), Vec::new());
        until(self.patience, "no process is left", || {
            left = marked(&self.mark);
            left.retain(|&pid| pid != own);
            left.is_empty()
        })
        .with_context(|| format!("{left:?} of {}", self.label))?;
        let status = self.session.reap()?;
        self.is_over = true;
        let stderr = self.session.words(LONGEST_WORDS)?;
        let exit = Exit { code: status.code(), signal: status.signal(), stdout, stderr };
        ensure!(
            exit.code != Some(101) && !matches!(exit.signal, Some(4 | 6 | 7 | 8 | 11)),
            "it crashed: {exit:?}"
        );
        Ok(exit)
    }
}

/// A check that fails leaves nothing behind.
impl Drop for Live {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        // Its status may have been taken; nobody is left to be told of what fails here.
        let _ = self.session.reap();
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
