//! A program that is checked, and one run of it.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use contract::message::{Answer, Description};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{self, SigHandler, Signal, kill, killpg};
use nix::unistd::Pid;
use serde_json::Value;

/// Time after which a program that gives no answer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Part of a line that a failure quotes, in characters.
const LONGEST_QUOTE: usize = 300;

/// Variable that marks the processes of a run: children inherit it.
const MARK: &str = "SWITCHCOST_CHECK_RUN";

/// Tasks of a run, where a check does not ask for others.
pub(crate) const TASKS: u64 = 3;

/// How much of the contract a program is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// What a runner relies on, of any program.
    Core,
    /// All that the programs of this workspace promise.
    Full,
}

/// A program to be checked.
pub(crate) struct Subject {
    /// Its executable.
    pub(crate) path: PathBuf,
    /// Flags that keep its run small; not `--tasks`, `--iters` and `--warmup`.
    pub(crate) flags: String,
    /// Faults that its `--test-fault` knows.
    pub(crate) faults: Vec<String>,
    /// How much is asked of it.
    pub(crate) level: Level,
}

/// A run that is prepared.
pub(crate) struct Start {
    command: Command,
    mark: String,
    stdout: Option<File>,
}

/// A program that runs, in a process group of its own.
pub(crate) struct Live {
    child: Child,
    /// Its standard input; `None` once it is closed.
    pub(crate) stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: File,
    received: Vec<u8>,
    mark: String,
    label: String,
}

/// How a run ended.
pub(crate) struct Ended {
    /// Exit status; `None` where a signal ended it.
    pub(crate) code: Option<i32>,
    /// Signal that ended it.
    pub(crate) signal: Option<i32>,
    /// Lines of standard output that nobody had read.
    pub(crate) stdout: Vec<String>,
    /// Standard error.
    pub(crate) stderr: String,
}

/// Default action for what a shell without job control has its background ignore.
fn heed_the_keyboard() -> io::Result<()> {
    for signal in [Signal::SIGINT, Signal::SIGQUIT] {
        // SAFETY: the default action is no handler of anybody's.
        #[expect(unsafe_code, reason = "a signal's action is set between fork and exec")]
        unsafe {
            signal::signal(signal, SigHandler::SigDfl)?;
        }
    }
    Ok(())
}

impl Subject {
    /// Name of the program.
    pub(crate) fn name(&self) -> &str {
        self.path.file_name().and_then(|n| n.to_str()).unwrap_or("")
    }

    /// Whether it is held to everything.
    pub(crate) fn is_full(&self) -> bool {
        self.level == Level::Full
    }

    /// A run with these flags alone.
    pub(crate) fn bare(&self, flags: &str) -> Start {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{count}", std::process::id());
        let mut command = Command::new(&self.path);
        command
            .args(flags.split_whitespace())
            .env(MARK, &mark)
            .env_remove("RUST_BACKTRACE")
            .process_group(0);
        let start = Start { command, mark, stdout: None };
        start.prepared(heed_the_keyboard)
    }

    /// A run of so many tasks.
    pub(crate) fn sized(&self, tasks: u64, flags: &str) -> Start {
        self.bare(&format!("--tasks {tasks} {} {flags}", self.flags))
    }

    /// A small run.
    pub(crate) fn small(&self, flags: &str) -> Start {
        self.sized(TASKS, &format!("--warmup 2 {flags}"))
    }

    /// A small controlled run that is ready.
    pub(crate) fn ready(&self) -> anyhow::Result<Live> {
        let mut live = self.small("--controlled").start()?;
        live.ready()?;
        Ok(live)
    }

    /// Its description of a run of so many tasks.
    pub(crate) fn description(&self, tasks: u64) -> anyhow::Result<Description> {
        let ended = self.sized(tasks, "--describe").finish()?.expect(0)?;
        let [line] = &ended.stdout[..] else {
            bail!("--describe prints one line: {ended:?}");
        };
        serde_json::from_str(line).with_context(|| format!("no description: {line}"))
    }
}

impl Start {
    /// Prepares the process just before it becomes the program: system calls only.
    pub(crate) fn prepared(
        mut self,
        prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        // SAFETY: the callers' closures make system calls, and neither allocate nor lock.
        #[expect(unsafe_code, reason = "a process is prepared between fork and exec")]
        unsafe {
            self.command.pre_exec(prepare);
        }
        self
    }

    /// Adds one argument, white space and all.
    pub(crate) fn arg(mut self, arg: &str) -> Self {
        self.command.arg(arg);
        self
    }

    /// Takes this for its standard output, which nobody reads then.
    pub(crate) fn stdout(mut self, file: File) -> Self {
        self.stdout = Some(file);
        self
    }

    /// Starts it.
    pub(crate) fn start(mut self) -> anyhow::Result<Live> {
        let label = format!("{:?}", self.command);
        let stderr = tempfile::tempfile()?;
        let stdout = self.stdout.map_or(Stdio::piped(), Stdio::from);
        let spawned =
            self.command.stdin(Stdio::piped()).stdout(stdout).stderr(stderr.try_clone()?).spawn();
        let mut child = spawned.with_context(|| format!("cannot start {label}"))?;
        Ok(Live {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            child,
            stderr,
            received: Vec::new(),
            mark: self.mark,
            label,
        })
    }

    /// Runs it to its end; it finds nothing on its standard input.
    pub(crate) fn finish(self) -> anyhow::Result<Ended> {
        self.start()?.finish()
    }
}

impl Live {
    /// Process of the program.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    /// Writes to its standard input. One that has ended is found out by what it does not answer.
    pub(crate) fn send(&mut self, text: impl AsRef<[u8]>) -> anyhow::Result<()> {
        let stdin = self.stdin.as_mut().context("its input is closed")?;
        match stdin.write_all(text.as_ref()) {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => Ok(other?),
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

    /// Waits until the program has a handler for a signal, or has ended.
    pub(crate) fn await_handler(&self, signal: Signal) -> anyhow::Result<()> {
        let bit = 1_u64 << (signal as i32 - 1);
        until("it catches the signal", || {
            let status = fs::read_to_string(format!("/proc/{}/status", self.pid()));
            let Ok(status) = status else { return true };
            let field = |name| status.lines().find_map(|line| line.strip_prefix(name));
            let caught = field("SigCgt:").and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
            caught.is_some_and(|caught| caught & bit != 0)
                || field("State:").is_some_and(|state| state.trim().starts_with('Z'))
        })
    }

    /// Next line; `None` at the end of its output.
    pub(crate) fn line(&mut self) -> anyhow::Result<Option<String>> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(end) = self.received.iter().position(|&b| b == b'\n') {
                let line = self.received.drain(..=end).take(end).collect();
                return Ok(Some(String::from_utf8(line)?));
            }
            let Some(stdout) = &mut self.stdout else {
                return Ok(None);
            };
            let left = deadline.saturating_duration_since(Instant::now());
            let mut fds = [PollFd::new(stdout.as_fd(), PollFlags::POLLIN)];
            if poll(&mut fds, PollTimeout::try_from(left)?)? == 0 {
                bail!("no answer within {PATIENCE:?}: {}", self.label);
            }
            let mut bytes = vec![0; 1 << 16];
            let read = stdout.read(&mut bytes)?;
            if read == 0 {
                let rest = std::mem::take(&mut self.received);
                let rest = String::from_utf8(rest)?;
                ensure!(rest.is_empty(), "a line without its end: '{rest}'");
                return Ok(None);
            }
            self.received.extend(&bytes[..read]);
        }
    }

    /// Next line as it is, and as an answer.
    pub(crate) fn answer_and_value(&mut self) -> anyhow::Result<(Answer, Value)> {
        let line = match self.line()? {
            Some(line) => line,
            None => bail!("it ended without an answer: {}", self.stderr()?),
        };
        let read = || Ok((serde_json::from_str(&line)?, serde_json::from_str(&line)?));
        read().map_err(|e: serde_json::Error| anyhow::anyhow!("no answer: {e}: {line}"))
    }

    /// Next answer.
    pub(crate) fn answer(&mut self) -> anyhow::Result<Answer> {
        Ok(self.answer_and_value()?.0)
    }

    /// Sends a request and takes the answer to it.
    pub(crate) fn ask(&mut self, request: &str) -> anyhow::Result<Answer> {
        self.send(format!("{request}\n"))?;
        self.answer()
    }

    /// Waits until it is ready; returns its processes.
    pub(crate) fn ready(&mut self) -> anyhow::Result<Vec<i32>> {
        match self.answer()? {
            Answer::Ready { pids, .. } => Ok(pids),
            other => bail!("not ready: {other:?}"),
        }
    }

    /// What it has said on standard error.
    fn stderr(&mut self) -> anyhow::Result<String> {
        let mut bytes = Vec::new();
        self.stderr.rewind()?;
        self.stderr.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Closes its input, reads the rest of its output, and waits for its end, and that of all that it
    /// has started.
    pub(crate) fn finish(mut self) -> anyhow::Result<Ended> {
        self.stdin = None;
        self.wait()
    }

    /// The same with its input left open.
    pub(crate) fn wait(&mut self) -> anyhow::Result<Ended> {
        let mut stdout = Vec::new();
        while let Some(line) = self.line()? {
            stdout.push(line);
        }
        let mut status = None;
        until("it ends", || {
            status = self.child.try_wait().ok().flatten();
            status.is_some()
        })
        .with_context(|| self.label.clone())?;
        let status = status.context("it has no status")?;
        let ended =
            Ended { code: status.code(), signal: status.signal(), stdout, stderr: self.stderr()? };
        ensure!(
            ended.code != Some(101) && !matches!(status.signal(), Some(4 | 6 | 7 | 8 | 11)),
            "it crashed with {status}: {ended:?}"
        );
        let mut left = Vec::new();
        until("no process is left", || {
            left = marked(&self.mark);
            left.is_empty()
        })
        .with_context(|| format!("{left:?} of {}", self.label))?;
        Ok(ended)
    }
}

/// A check that fails leaves nothing behind.
impl Drop for Live {
    fn drop(&mut self) {
        // What has ended already needs no signal.
        let _ = killpg(self.pid(), Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

impl fmt::Debug for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "status {:?}, signal {:?}", self.code, self.signal)?;
        for line in &self.stdout {
            let short: String = line.chars().take(LONGEST_QUOTE).collect();
            let dots = if short.len() < line.len() { " ..." } else { "" };
            writeln!(f, "  > {short}{dots}")?;
        }
        self.stderr.lines().try_for_each(|line| writeln!(f, "  ! {line}"))
    }
}

impl Ended {
    /// Expects this exit status.
    pub(crate) fn expect(self, code: i32) -> anyhow::Result<Self> {
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
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) -> anyhow::Result<()> {
    let begun = Instant::now();
    while !is_so() {
        ensure!(begun.elapsed() < PATIENCE, "never within {PATIENCE:?}: {what}");
        thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

/// Threads of a process; none where it has ended.
pub(crate) fn threads(pid: i32) -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new("/proc").join(format!("{pid}/task")));
    let entries = entries.into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}
