//! A server that is a process of its own: `--server`.

use std::ffi::OsStr;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use contract::message::Runtime;
use contract::{BadUsage, Interrupted, Run, signals};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::unistd::Pid;

use crate::generator::Generator;
use crate::window::Window;

/// Longest waits: for the runtime's name, shorter than a runner's for a description; until it is ready or has ended;
/// and for the end of one that failed.
const TO_TELL: Duration = Duration::from_secs(5);
const TO_SERVE: Duration = Duration::from_secs(10);
const TO_FAIL: Duration = Duration::from_secs(1);

/// Time between two looks for a signal, in ms.
const LOOK_MS: u16 = 50;

/// Runtime of a server: `--runtime` has it print name, flavor and version, and end.
pub(crate) fn runtime(program: &Path, workers: u32) -> anyhow::Result<Runtime> {
    let refused = |fault: &str| {
        let program = program.display();
        let remedy = "name a server, such as `goroutine-server` of peers/go";
        BadUsage::new(format!("--server {program}: {fault}: {remedy}"))
    };
    let mut command = command(program, ["--runtime"]);
    let mut server = match command.stderr(Stdio::null()).spawn() {
        Err(e) if !matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::OutOfMemory) => {
            return Err(refused(&e.to_string()));
        }
        other => other.with_context(|| format!("cannot start {}", program.display()))?,
    };
    drop(server.stdin.take());
    let words = first_words(&mut server, TO_TELL);
    let status = end(&mut server, TO_FAIL)?;
    if signals::received().is_some() {
        return Err(Interrupted.into());
    }
    let words = String::from_utf8(words.unwrap_or_default()).unwrap_or_default();
    let mut words = words.trim_end().splitn(3, ' ').map(str::to_owned);
    match (words.next(), words.next(), words.next(), status) {
        (Some(name), Some(flavor), version @ Some(_), Some(status)) if status.success() => {
            Ok(Runtime { name, version, flavor, workers })
        }
        _ => Err(refused(
            "it does not print the name of its runtime, flavor and version for --runtime",
        )),
    }
}

/// Has a server run the tasks: it says by a byte that it is ready, and is sent one for each task.
pub(crate) fn serve(
    program: &Path,
    workers: u32,
    window: &'static Window,
    generator: Generator,
    run: &mut Run,
) -> anyhow::Result<()> {
    let mut server = command(program, window.arguments(workers))
        .spawn()
        .with_context(|| format!("--server {}", program.display()))?;
    run.set_children(vec![server.id() as i32]);
    let served = send(&mut server, generator, run);
    // It ends at the end of file, unless it is stuck.
    drop(server.stdin.take());
    let status = end(&mut server, if served.is_ok() { TO_SERVE } else { TO_FAIL })?;
    match status {
        // What failed besides follows from it. A signal may have been meant for both.
        Some(status) if !status.success() && signals::received().is_none() => {
            bail!("the server ended with {status}")
        }
        None if served.is_ok() => {
            bail!("the server did not end within {TO_SERVE:?} of the end of its standard input")
        }
        _ => served,
    }
}

fn send(server: &mut Child, mut generator: Generator, run: &mut Run) -> anyhow::Result<()> {
    let ready = first_words(server, TO_SERVE)?;
    ensure!(ready.len() == 1, "the server did not print a byte, and no more, when it was ready");
    generator.server = Some(Pid::from_raw(server.id() as i32));
    let mut writer = server.stdin.take().context("the server has no standard input")?;
    generator.generate(run, |_| writer.write_all(&[0]).context("the server has ended"))
}

fn command(program: &Path, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

/// What a server prints at first; nothing if it has ended.
fn first_words(server: &mut Child, limit: Duration) -> anyhow::Result<Vec<u8>> {
    let reader = server.stdout.as_mut().context("the server has no standard output")?;
    let begun = Instant::now();
    while signals::received().is_none() {
        ensure!(
            begun.elapsed() < limit,
            "the server printed nothing in {limit:?}: a byte is expected when it is ready"
        );
        let mut fds = [PollFd::new(reader.as_fd(), PollFlags::POLLIN)];
        match poll(&mut fds, PollTimeout::from(LOOK_MS)) {
            Ok(0) | Err(Errno::EINTR) => continue,
            other => other.context("cannot wait for the server")?,
        };
        let mut bytes = vec![0; 256];
        let count = reader.read(&mut bytes)?;
        bytes.truncate(count);
        return Ok(bytes);
    }
    Err(Interrupted.into())
}

/// Status of a server that ends within the limit; else it is killed.
fn end(server: &mut Child, limit: Duration) -> anyhow::Result<Option<ExitStatus>> {
    let begun = Instant::now();
    while begun.elapsed() < limit {
        if let Some(status) = server.try_wait().context("cannot wait for the server")? {
            return Ok(Some(status));
        }
        thread::sleep(Duration::from_micros(100));
    }
    server.kill().and_then(|()| server.wait()).context("cannot kill the server")?;
    Ok(None)
}
