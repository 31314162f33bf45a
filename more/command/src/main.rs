//! Runs of a command, each in a fresh process.
//!
//! One iteration: the command of `--run` is started N times, one run after the other, where N is `--tasks`. There is no
//! shell in between, unless `--shell` asks for one.
//!
//! Timed: posix_spawn(3), and the command until it can be reaped; meanwhile its output is read, summed up and thrown
//! away. Left out: `--prepare` and `--conclude`, a warm-up of the CPU, and ending what the command has left
//! running. The usage is that of all processes that the command has started and that were awaited.
//!
//! This program is small, so that its own memory is not taken for the command's: the kernel hands the peak of a process
//! on to the program that it executes (exec_mmap, fs/exec.c). So it measures in a forked child, into which the
//! kernel copies no page of a file. A command with less memory than that child has the child's peak.
//!
//! Not to be taken for a command's time in a terminal: there, its output goes to a program that draws it.

mod output;
mod starter;

use std::fs::File;
use std::hint;
use std::io::{self, pipe};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use contract::message::{Claim, Description, Need, Needs, PassKind, Runs, Usage};
use contract::{BadUsage, Defaults, Flags, Pass, Program, Run};
use host::{console, path, signals};
use nix::sys::resource::UsageWho;
use output::Reader;

/// Time runs of a command, each in a fresh process
#[derive(Parser)]
#[command(mut_arg("tasks", |arg| arg.help("Number of runs per iteration, one after the other")))]
#[command(mut_arg("command", |arg| arg.hide(true)))]
struct Cli {
    #[command(flatten)]
    flags: Flags,
    /// Command to time: words as in a shell, but no shell runs them
    #[arg(long, value_name = "LINE")]
    run: String,
    /// Have `sh -c` run the whole line; its time is the command's, too
    #[arg(long)]
    shell: bool,
    /// Command for `sh -c` before each run, untimed
    #[arg(long, value_name = "LINE")]
    prepare: Option<String>,
    /// Command for `sh -c` after each run, untimed
    #[arg(long, value_name = "LINE")]
    conclude: Option<String>,
    /// File that each run reads as its standard input
    #[arg(long, value_name = "FILE", default_value = "/dev/null")]
    input: PathBuf,
    /// Where standard output goes: `pipe` (it is read, summed up and thrown away), or a file, which each run writes anew,
    /// such as /dev/null
    #[arg(long, value_name = "pipe|FILE", default_value = "pipe")]
    output: PathBuf,
    /// Exit statuses that count as success
    #[arg(long, value_name = "STATUS", value_delimiter = ',', default_value = "0")]
    exit: Vec<u8>,
}

/// Time that a CPU computes before each run. After 20 ms of idleness, a run of 8 ms took 20 % longer on one virtual machine
/// (AMD EPYC); on `epyc8`, 0 to 20 ms of computing made no difference.
const WARM_UP: Duration = Duration::from_millis(2);

/// Lines of standard error that the error of a run quotes.
const QUOTED_LINES: usize = 3;

impl Program for Cli {
    const DEFAULTS: Defaults = Defaults { tasks: 1, iters: 20, warmup: 1 };

    fn describe(&self) -> Result<Description> {
        self.words()?;
        // Of the command nothing is known.
        let needs = Needs {
            descriptors: Need::new(16, 0),
            threads: Need::new(4, 0),
            bytes: Need::new(16 << 20, 0),
            ..Needs::default()
        };
        let description = Description::new("command", &self.flags, Claim::KernelSwitch);
        let passes = description.passes.iter().cloned().map(|pass| PassKind { settle: 0, ..pass });
        Ok(Description { needs, fresh: true, passes: passes.collect(), ..description })
    }
}

fn main() -> ExitCode {
    contract::main(|cli: &Cli, run: &mut Run| {
        starter::go_on_in_a_child(run)?;
        while let Some(mut pass) = run.next_pass()? {
            while pass.next_iteration().is_some() {
                let mut elapsed = Duration::ZERO;
                for _ in 0..cli.flags.tasks {
                    elapsed += cli.time_a_run(&mut pass)?;
                }
                // Of an iteration that a signal has cut short nothing is kept.
                if signals::received().is_none() {
                    pass.record(elapsed);
                }
            }
            run.finish(pass)?;
        }
        Ok(())
    })
}

impl Cli {
    /// Runs the command once, and times that.
    fn time_a_run(&self, pass: &mut Pass) -> Result<Duration> {
        self.beside("--prepare", self.prepare.as_deref())?;
        let (mut command, readers) = self.command()?;
        let before = Usage::now(UsageWho::RUSAGE_CHILDREN).context("cannot read the usage")?;
        warm_up();

        let clock = Instant::now();
        let child = command.spawn().with_context(|| self.run.clone())?;
        starter::wait(child.id() as i32)?;
        let elapsed = clock.elapsed();

        let (status, peak_bytes) = starter::reap(child.id() as i32)?;
        // The readers reach the end once nobody can write any more.
        drop(command);
        let left = starter::end_what_is_left()?;
        let usage = Usage::now(UsageWho::RUSAGE_CHILDREN).context("cannot read the usage")?;
        let [output, words] = readers.map(Reader::join);
        if signals::received().is_none() {
            self.ensure_success(status, &words?.end())?;
        }
        let usage = Usage { peak_bytes: Some(peak_bytes), ..usage.since(before) };
        let output = Some(output?.digest()).filter(|_| self.is_read());
        let peak_is_bound = peak_bytes <= starter::peak_bytes()?;
        pass.add_run(usage, Runs { output, left, peak_is_bound });
        self.beside("--conclude", self.conclude.as_deref())?;
        Ok(elapsed)
    }

    /// The words of the command.
    fn words(&self) -> Result<Vec<String>> {
        let words = match self.shell {
            true => Some(["sh", "-c", &self.run].map(str::to_owned).to_vec()),
            false => shlex::split(&self.run),
        };
        let words =
            words.ok_or_else(|| BadUsage::new(format!("--run {}: close the quote", self.run)))?;
        let name = words.first().ok_or_else(|| BadUsage::new("--run is empty: name a command"))?;
        let remedy = match name.contains('/') {
            true => String::new(),
            false => format!(" in PATH: write ./{name} for a file in this folder, or use --shell"),
        };
        ensure!(
            path::find(name).is_some(),
            BadUsage::new(format!("--run: '{name}' is no command that you may execute{remedy}"))
        );
        Ok(words)
    }

    /// The command, and what reads its output.
    fn command(&self) -> Result<(Command, [Reader; 2])> {
        let words = self.words()?;
        let mut command = Command::new(&words[0]);
        let input = File::open(&self.input);
        let input = input.with_context(|| format!("--input {}", self.input.display()))?;
        command.args(&words[1..]).stdin(input);
        let (output, to_output) = pipe()?;
        let (words, to_words) = pipe()?;
        if self.is_read() {
            command.stdout(to_output);
        } else {
            let file = File::create(&self.output);
            let file = file.with_context(|| format!("--output {}", self.output.display()))?;
            command.stdout(file);
        }
        command.stderr(to_words);
        Ok((command, [Reader::start(output)?, Reader::start(words)?]))
    }

    /// True if this program reads the output.
    fn is_read(&self) -> bool {
        self.output == Path::new("pipe")
    }

    /// Runs what is untimed around a run.
    fn beside(&self, flag: &str, line: Option<&str>) -> Result<()> {
        let Some(line) = line else { return Ok(()) };
        let mut command = Command::new("sh");
        // Standard output is for the answers to a runner.
        command.args(["-c", line]).stdin(Stdio::null()).stdout(io::stderr());
        let status = command.status().with_context(|| format!("{flag}: cannot run sh"))?;
        ensure!(
            status.success() || signals::received().is_some(),
            "{flag} ended with {status}: {line}"
        );
        Ok(())
    }

    /// Makes sure that a run ended as it should.
    fn ensure_success(&self, status: ExitStatus, words: &str) -> Result<()> {
        if status
            .code()
            .is_some_and(|code| self.exit.iter().any(|&wanted| i32::from(wanted) == code))
        {
            return Ok(());
        }
        console::say(words);
        let lines: Vec<&str> = words.lines().collect();
        let last = lines[lines.len().saturating_sub(QUOTED_LINES)..].join("; ");
        let said = if last.is_empty() { "it said nothing on standard error" } else { &last };
        let remedy =
            status.code().map_or(String::new(), |code| format!(" (--exit {code} lets that pass)"));
        bail!("`{}` ended with {status}{remedy}: {said}", self.run)
    }
}

/// Computes for a while: after a wait, the CPU is slower.
fn warm_up() {
    let begun = Instant::now();
    while begun.elapsed() < WARM_UP {
        hint::spin_loop();
    }
}
