//! Running a program with a time-out, and what may never happen whatever it is asked.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use super::until;

/// How long a run may take before it counts as a hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// The variable that marks a run's processes, wherever they go: they inherit it.
const MARK: &str = "SWITCHCOST_TEST_RUN";

/// Shell text for [`Run::within`]: what the program writes to standard output goes into a file, which may not grow;
/// what it says, and its exit status, are the output.
pub(crate) const NO_FILES: &str =
    r#"{ (ulimit -f 0; exec "$0" "$@" 2>&1 >out); echo "status $?"; } | cat"#;

/// A program to be run.
pub(crate) struct Run {
    command: Command,
    input: String,
    output: Option<Stdio>,
    mark: OsString,
}

/// A program that runs, in a process group of its own.
pub(crate) struct Running {
    child: Child,
    stdout: File,
    stderr: File,
    mark: OsString,
    label: String,
}

/// How a program ended.
pub(crate) struct Outcome {
    pub(crate) code: i32,
    /// What it wrote to standard output.
    pub(crate) stdout: String,
    /// What it wrote to standard error.
    pub(crate) stderr: String,
    label: String,
}

impl Run {
    /// A program by itself.
    pub(crate) fn of(program: impl AsRef<OsStr>) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mark = OsString::from(format!("{}-{count}", std::process::id()));
        let mut command = Command::new(program);
        command.env(MARK, &mark).process_group(0);
        // A failure shows what the program says; where that comes from would bury it.
        command.env_remove("RUST_BACKTRACE");
        // Tests run beside each other, and none of them needs a figure.
        command.env("SWITCHCOST_LOCK", "none");
        command.env("LC_ALL", "C.UTF-8");
        Run { command, input: String::new(), output: None, mark }
    }

    /// A program that a shell starts, as `exec "$0" "$@"` in `script`.
    pub(crate) fn within(script: &str, program: &Path) -> Self {
        Run::of("sh").arg("-c").arg(script).arg(program)
    }

    /// Adds one argument.
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.command.arg(arg);
        self
    }

    /// Adds arguments separated by white space.
    pub(crate) fn flags(mut self, flags: &str) -> Self {
        self.command.args(flags.split_whitespace());
        self
    }

    /// Sets a variable of its environment, or removes it.
    pub(crate) fn env(mut self, name: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.command.env(name, value),
            None => self.command.env_remove(name),
        };
        self
    }

    /// The folder that it starts in.
    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// What the program reads from standard input: nothing, unless this is called.
    pub(crate) fn input(mut self, text: &str) -> Self {
        text.clone_into(&mut self.input);
        self
    }

    /// A standard output of the caller's; that of the outcome is empty.
    pub(crate) fn output(mut self, out: impl Into<Stdio>) -> Self {
        self.output = Some(out.into());
        self
    }

    /// Starts it.
    pub(crate) fn start(mut self) -> Running {
        let [mut input, stdout, stderr] = [(); 3].map(|()| tempfile::tempfile().unwrap());
        input.write_all(self.input.as_bytes()).unwrap();
        input.rewind().unwrap();
        let label = format!("{:?}", self.command);
        let out = self.output.unwrap_or_else(|| stdout.try_clone().unwrap().into());
        self.command.stdin(input).stdout(out).stderr(stderr.try_clone().unwrap());
        let child = self.command.spawn().unwrap_or_else(|e| panic!("cannot run {label}: {e}"));
        Running { child, stdout, stderr, mark: self.mark, label }
    }

    /// Runs it to its end.
    pub(crate) fn finish(self) -> Outcome {
        self.start().finish()
    }
}

impl Running {
    /// Sends a signal to the program alone, once it is prepared for it.
    pub(crate) fn signal(&self, signal: Signal) {
        self.await_handler(signal);
        kill(self.pid(), signal).unwrap();
    }

    /// Waits until the program is prepared for a signal.
    pub(crate) fn await_handler(&self, signal: Signal) {
        let caught = || is_in(self.pid(), "SigCgt", signal) || self.has_ended();
        until("the signal is caught", caught);
    }

    /// Sends a signal to the program alone, whether it is prepared for it or not.
    pub(crate) fn send(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    /// Ends the program alone by a signal that it does not catch, and returns what is left.
    ///
    /// # Panics
    /// When it does not end by that signal.
    pub(crate) fn end_by(mut self, signal: Signal) -> Vec<String> {
        self.send(signal);
        let status = self.child.wait().unwrap();
        assert_eq!(status.signal(), Some(signal as i32), "{status}");
        self.left()
    }

    /// Whether the program has ended.
    pub(crate) fn has_ended(&self) -> bool {
        status(self.pid(), "State").is_none_or(|state| state.starts_with('Z'))
    }

    /// The id of the program's process.
    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    /// What it has written to standard output so far.
    pub(crate) fn stdout_so_far(&self) -> String {
        text(&self.stdout)
    }

    /// What it has written to standard error so far.
    pub(crate) fn stderr_so_far(&self) -> String {
        text(&self.stderr)
    }

    /// Whether some process of this run has this name (`/proc/PID/comm`).
    pub(crate) fn has(&self, name: &str) -> bool {
        self.count(name) > 0
    }

    /// How many processes of this run have this name.
    pub(crate) fn count(&self, name: &str) -> usize {
        let called = |pid| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        self.processes().filter(|&pid| called(pid).trim() == name).count()
    }

    /// The processes of this run that are alive.
    fn processes(&self) -> impl Iterator<Item = i32> {
        let mut mark = OsString::from(MARK);
        mark.push("=");
        mark.push(&self.mark);
        let is_ours = move |pid: &i32| {
            let variables = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            variables.split(|&byte| byte == 0).any(|variable| variable == mark.as_encoded_bytes())
        };
        fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter(is_ours)
    }

    /// Waits until it ends by itself, and sees to it that nothing that it started is left.
    ///
    /// # Panics
    /// When it hangs, panicked, was ended by a signal, or left a process.
    pub(crate) fn finish(mut self) -> Outcome {
        let status = self.wait();
        let outcome = Outcome {
            code: status.and_then(|status| status.code()).unwrap_or(-1),
            stdout: text(&self.stdout),
            stderr: text(&self.stderr),
            label: std::mem::take(&mut self.label),
        };
        let Some(status) = status else {
            panic!("it hangs: {outcome}");
        };
        assert!(outcome.code >= 0, "it ended with {status}: {outcome}");
        assert_ne!(outcome.code, 101, "it panicked: {outcome}");
        for text in [&outcome.stdout, &outcome.stderr] {
            assert!(!text.contains("panicked"), "it panicked: {outcome}");
        }
        let left = self.left();
        assert!(left.is_empty(), "it left processes: {left:?}\n{outcome}");
        outcome
    }

    /// Waits; `None` where it had to be killed.
    fn wait(&mut self) -> Option<ExitStatus> {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Some(status);
            }
            thread::sleep(Duration::from_millis(2));
        }
        self.left();
        None
    }

    /// What is left of this run a moment later; it is killed.
    fn left(&self) -> Vec<String> {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(1) && self.processes().next().is_some() {
            thread::sleep(Duration::from_millis(5));
        }
        let killed = self.processes().map(|pid| {
            let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            command.replace('\0', " ")
        });
        killed.collect()
    }
}

/// A test that fails while its program runs leaves nothing behind.
impl Drop for Running {
    fn drop(&mut self) {
        if thread::panicking() {
            let _ = killpg(self.pid(), Signal::SIGKILL);
        }
        let _ = self.child.wait();
    }
}

/// True if this process ignores a signal, as one started in the background of a shell may: a shell that it starts cannot
/// catch it then.
pub(crate) fn ignores(signal: Signal) -> bool {
    is_in(Pid::this(), "SigIgn", signal)
}

fn is_in(pid: Pid, mask: &str, signal: Signal) -> bool {
    let mask = u64::from_str_radix(&status(pid, mask).unwrap_or_default(), 16).unwrap_or_default();
    mask & (1 << (signal as i32 - 1)) != 0
}

/// A field of `/proc/PID/status`; `None` if there is no such process.
fn status(pid: Pid, name: &str) -> Option<String> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    value.map(|value| value.trim().to_owned())
}

fn text(file: &File) -> String {
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    // Not by a read, which would move the place that the program writes to.
    file.read_exact_at(&mut bytes, 0).unwrap();
    String::from_utf8(bytes).expect("the output is UTF-8")
}

impl Outcome {
    /// Expects this exit status.
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self}");
        self
    }

    /// Expects success, and not a word on standard error but of a build, which may wait for that of another test.
    pub(crate) fn expect_quiet_success(self) -> Self {
        let is_quiet = self.stderr.lines().all(|line| line.starts_with("building "));
        assert!(self.code == 0 && is_quiet, "{self}");
        self
    }

    /// Expects failure with nothing on standard output and these words on standard error.
    pub(crate) fn expect_refusal(self, code: i32, words: &[&str]) -> Self {
        let this = self.expect(code).expect_complaint(words);
        assert!(this.stdout.is_empty(), "nothing is a result here: {this}");
        this
    }

    /// Expects these words on standard error.
    pub(crate) fn expect_complaint(self, words: &[&str]) -> Self {
        for word in words {
            assert!(self.stderr.contains(word), "'{word}' is missing: {self}");
        }
        self
    }

    /// Standard output in one line.
    pub(crate) fn words(&self) -> String {
        self.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The only line of standard output.
    pub(crate) fn line(&self) -> &str {
        let line = self.stdout.strip_suffix('\n');
        let line = line.unwrap_or_else(|| panic!("no whole line: {self}"));
        assert!(!line.contains('\n'), "more than one line: {self}");
        line
    }
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Outcome { code, stdout, stderr, label } = self;
        write!(f, "\n$ {label}\nstatus {code}\n--- stdout\n{stdout}\n--- stderr\n{stderr}")
    }
}
