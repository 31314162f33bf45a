//! The server: a process of its own, which returns each request as it is.

#![expect(unsafe_code, reason = "the server is forked")]

use std::convert::Infallible;
use std::fs::File;
use std::hint::black_box;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::str::FromStr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use brigade::process::{self, Forked};
use contract::message::{Claim, Runtime};
use host::{console, signals};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::time::clock_getcpuclockid;
use nix::unistd::pipe2;
use runtime::RuntimeFlags;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use crate::Cli;

/// What serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerKind {
    Thread,
    Tokio,
    TokioSpawn,
    Program(PathBuf),
}

/// Longest time until a program says what it is.
const TO_TELL: Duration = Duration::from_secs(10);

/// Time between two looks for a signal, in ms.
const LOOK_MS: u16 = 50;

impl FromStr for ServerKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "thread" => Ok(ServerKind::Thread),
            "tokio" => Ok(ServerKind::Tokio),
            "tokio-spawn" => Ok(ServerKind::TokioSpawn),
            path if path.contains('/') => Ok(ServerKind::Program(path.into())),
            _ => {
                Err("there is no such server: write thread, tokio, tokio-spawn, or a path with a /"
                    .to_owned())
            }
        }
    }
}

impl ServerKind {
    pub(crate) fn is_tokio(&self) -> bool {
        matches!(self, ServerKind::Tokio | ServerKind::TokioSpawn)
    }

    /// What switches between the tasks, one for each connection.
    pub(crate) fn claim(&self) -> Claim {
        if *self == ServerKind::Thread { Claim::KernelSwitch } else { Claim::UserSwitch }
    }
}

/// The server's process, for as long as this lives.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) process: Forked,
    /// Standard output of a program.
    says: File,
}

impl Server {
    /// Forks the server. Call it while this process has one thread.
    pub(crate) fn fork(cli: &Cli, listener: TcpListener) -> anyhow::Result<Self> {
        let (says, tell) = pipe2(OFlag::O_CLOEXEC).context("cannot make a pipe")?;
        // SAFETY: this process has one thread.
        let child = unsafe { process::fork(|| live(cli, listener, tell)) };
        let process = Forked(child.context("cannot fork the server: see ulimit -u and pids.max")?);
        Ok(Server { process, says: says.into() })
    }

    pub(crate) fn pid(&self) -> i32 {
        self.process.0.as_raw()
    }

    /// CPU time of all its threads, those that have ended too.
    pub(crate) fn cpu_time(&self) -> anyhow::Result<Duration> {
        let clock = clock_getcpuclockid(self.process.0).context("the server has ended")?;
        Ok(clock.now().context("the server has ended")?.into())
    }

    /// Runtime of a program, which prints its name, flavor and version in a line when it starts.
    pub(crate) fn runtime(&mut self, on: &ServerKind) -> anyhow::Result<Option<Runtime>> {
        let ServerKind::Program(path) = on else { return Ok(None) };
        let name = path.display();
        let begun = Instant::now();
        let mut line = Vec::new();
        while !line.ends_with(b"\n") {
            ensure!(begun.elapsed() < TO_TELL, "{name} printed no line within {TO_TELL:?}");
            let mut fds = [PollFd::new(self.says.as_fd(), PollFlags::POLLIN)];
            match poll(&mut fds, PollTimeout::from(LOOK_MS)) {
                Ok(0) | Err(Errno::EINTR) => continue,
                other => other.context("cannot wait for the server")?,
            };
            let mut byte = [0];
            let is_over = self.says.read(&mut byte)? == 0 || line.len() > 200;
            ensure!(
                !is_over,
                "{name} printed no line: it must print the name, flavor and version of its runtime"
            );
            line.push(byte[0]);
        }
        let line = String::from_utf8_lossy(&line);
        let mut words = line.trim_end().splitn(3, ' ').map(str::to_owned);
        let (Some(name), Some(flavor), version) = (words.next(), words.next(), words.next()) else {
            bail!(
                "{name} printed '{}': it must print the name, flavor and version of its runtime",
                line.trim_end()
            );
        };
        let workers = thread::available_parallelism()?.get() as u32;
        Ok(Some(Runtime { name, version, flavor, workers }))
    }
}

/// The whole life of the server's process.
fn live(cli: &Cli, listener: TcpListener, tell: OwnedFd) -> i32 {
    let (size, work) = (cli.size.0 as usize, cli.work);
    let serve = || match &cli.on {
        ServerKind::Thread => thread_per_connection(&listener, size, work),
        ServerKind::Tokio | ServerKind::TokioSpawn => {
            let runtime =
                RuntimeFlags::multi_thread(cli.workers).build(|builder| builder.enable_io())?;
            runtime.block_on(task_per_connection(
                listener,
                size,
                work,
                cli.on == ServerKind::TokioSpawn,
            ))
        }
        ServerKind::Program(path) => {
            signals::restore()?;
            // A terminal signals this process's group, and not the program's.
            let mut program = Command::new(path);
            let program = program.stdin(OwnedFd::from(listener)).stdout(tell).process_group(0);
            Err(program.exec()).with_context(|| format!("--on {}", path.display()))
        }
    };
    let Err(error) = serve();
    console::say(&format!("arrivals: the server: {error:#}"));
    1
}

fn thread_per_connection(
    listener: &TcpListener,
    size: usize,
    work: u32,
) -> anyhow::Result<Infallible> {
    loop {
        let (mut stream, _) = listener.accept().context("cannot accept")?;
        stream.set_nodelay(true)?;
        let body = move || {
            let mut request = vec![0; size];
            while stream.read_exact(&mut request).is_ok() {
                multiply(work);
                // The client sees that a connection is closed, and says so.
                if stream.write_all(&request).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().spawn(body).context("cannot create a thread: lower --tasks")?;
    }
}

async fn task_per_connection(
    listener: TcpListener,
    size: usize,
    work: u32,
    spawns: bool,
) -> anyhow::Result<Infallible> {
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await.context("cannot accept")?;
        stream.set_nodelay(true)?;
        if spawns {
            tokio::spawn(task_per_request(stream, size, work));
        } else {
            tokio::spawn(respond(stream, size, work));
        }
    }
}

async fn respond(mut stream: TcpStream, size: usize, work: u32) {
    let mut request = vec![0; size];
    while stream.read_exact(&mut request).await.is_ok() {
        multiply(work);
        if stream.write_all(&request).await.is_err() {
            return;
        }
    }
}

async fn task_per_request(stream: TcpStream, size: usize, work: u32) {
    let (mut reader, writer) = stream.into_split();
    let writer = Arc::new(Mutex::new(writer));
    let mut request = vec![0; size];
    while reader.read_exact(&mut request).await.is_ok() {
        let (writer, response) = (Arc::clone(&writer), request.clone());
        tokio::spawn(async move {
            multiply(work);
            // A closed connection ends the reader.
            let _ = writer.lock().await.write_all(&response).await;
        });
    }
}

/// Multiplies so many times. No compiler finds a shorter way to the same number.
fn multiply(times: u32) {
    black_box((0..times).fold(black_box(3), |x: u64, _| x.wrapping_mul(x).wrapping_add(5)));
}
