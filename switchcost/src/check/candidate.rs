//! A program that is checked, and how a run of it is started.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use contract::message::Description;
use nix::sys::signal::{self, SigHandler, Signal};
use serde::Serialize;

use super::run::{Exit, Live, MARK, until};
use crate::measure::session::{self, Session};
use crate::system::console::shortened;
use crate::system::executable::Executable;

/// Time after which a program that gives no answer hangs, if nobody says another.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tasks of a run, where a check does not ask for others.
pub(crate) const TASKS: u64 = 3;

/// Part of the contract that a program is held to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// what the runner relies on, of any program
    Core,
    /// all that the Rust programs of this workspace promise
    Full,
}

/// A program to be checked.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its executable.
    pub executable: Executable,
    /// Flags that keep its run small or choose its kind; not `--tasks`, `--iters` and `--warmup`.
    pub flags: Vec<String>,
    /// Faults that its `--test-fault` knows.
    pub faults: Vec<String>,
    /// Level that it is held to.
    pub level: Level,
    /// Longest wait for an answer or an end.
    pub patience: Duration,
}

/// A run that is prepared.
#[derive(Debug)]
pub struct Start {
    command: Command,
    mark: String,
    patience: Duration,
    stdout: Option<File>,
}

/// Default action for signals that nohup(1), or a shell without job control, has its children ignore.
fn heed_signals() -> io::Result<()> {
    for signal in [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGHUP] {
        // SAFETY: the default action is no handler of anybody's.
        #[expect(unsafe_code, reason = "a signal's action is set between fork and exec")]
        unsafe {
            signal::signal(signal, SigHandler::SigDfl)?;
        }
    }
    Ok(())
}

impl Candidate {
    /// A program without known faults.
    pub fn new(executable: impl Into<Executable>, flags: Vec<String>, level: Level) -> Self {
        let executable = executable.into();
        Candidate { executable, flags, faults: Vec::new(), level, patience: PATIENCE }
    }

    /// Name of the executable.
    pub(crate) fn name(&self) -> &str {
        self.executable.path.file_name().and_then(OsStr::to_str).unwrap_or("")
    }

    /// Whether it is held to everything.
    pub(crate) fn is_full(&self) -> bool {
        self.level == Level::Full
    }

    /// Waits until something is so.
    pub(crate) fn until(&self, what: &str, is_so: impl FnMut() -> bool) -> anyhow::Result<()> {
        until(self.patience, what, is_so)
    }

    /// A run with these flags alone.
    pub(crate) fn bare(&self, flags: &str) -> Start {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}-{count}", std::process::id());
        let mut command = session::command(&self.executable);
        command.args(flags.split_whitespace()).env(MARK, &mark).env_remove("RUST_BACKTRACE");
        let start = Start { command, mark, patience: self.patience, stdout: None };
        start.prepared(heed_signals)
    }

    /// A run of so many tasks.
    pub(crate) fn sized(&self, tasks: u64, flags: &str) -> Start {
        let mut start = self.bare(&format!("--tasks {tasks}"));
        start.command.args(&self.flags).args(flags.split_whitespace());
        start
    }

    /// A small run.
    pub fn small(&self, flags: &str) -> Start {
        self.sized(TASKS, &format!("--warmup 2 {flags}"))
    }

    /// A small controlled run that is ready.
    pub(crate) fn ready(&self) -> anyhow::Result<Live> {
        let mut live = self.small("--controlled").start()?;
        live.ready()?;
        Ok(live)
    }

    /// Starts it and ends it at once.
    ///
    /// # Errors
    /// When it is no file that can be executed.
    pub fn try_start(&self) -> anyhow::Result<()> {
        self.bare("--describe").start().map(drop)
    }

    /// Its description of a run of so many tasks.
    pub(crate) fn description(&self, tasks: u64) -> anyhow::Result<Description> {
        let exit = self.sized(tasks, "--describe").finish()?.expect(0)?;
        let [line] = &exit.stdout[..] else {
            bail!("--describe prints one line: {exit:?}");
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
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(self) -> anyhow::Result<Live> {
        let words = [self.command.get_program()].into_iter().chain(self.command.get_args());
        let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
        let label = shortened(&words.join(" "));
        let stdout = self.stdout.map_or(Stdio::piped(), Stdio::from);
        let session = Session::spawn(self.command, stdout, self.patience)
            .with_context(|| format!("cannot start {label}"))?;
        Ok(Live::new(session, self.mark, label, self.patience))
    }

    /// Runs it to its end; it finds nothing on its standard input.
    pub(crate) fn finish(self) -> anyhow::Result<Exit> {
        self.start()?.finish()
    }
}
