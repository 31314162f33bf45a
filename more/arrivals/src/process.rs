//! The server's process: which server it is, its start, and what it used.

#![expect(unsafe_code, reason = "the server is forked")]

use std::convert::Infallible;
use std::fs::{self, File};
use std::io::Read;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use brigade::allowed_cpus;
use brigade::process::{self, Forked};
use contract::message::{Claim, Runtime};
use host::{console, signals};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::time::clock_getcpuclockid;
use nix::unistd::pipe2;
use runtime::{Flavor, RuntimeFlags};

use crate::quota::QuotaGroup;
use crate::servers::{
    Echo, event_loops, io_alone, multiplications, task_per_connection, thread_per_connection,
};
use crate::{Cli, client};

/// What serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerKind {
    Io,
    Epoll,
    EpollPerCpu,
    EpollPool,
    Thread,
    TokioCurrentThread,
    Tokio,
    TokioSpawn,
    Program(PathBuf),
}

/// The servers that are built in, by name.
const BUILT_IN: [(&str, ServerKind); 8] = [
    ("io", ServerKind::Io),
    ("epoll", ServerKind::Epoll),
    ("epoll-per-cpu", ServerKind::EpollPerCpu),
    ("epoll-pool", ServerKind::EpollPool),
    ("thread", ServerKind::Thread),
    ("tokio-current-thread", ServerKind::TokioCurrentThread),
    ("tokio", ServerKind::Tokio),
    ("tokio-spawn", ServerKind::TokioSpawn),
];

/// Longest time until a program says what it is.
const TO_TELL: Duration = Duration::from_secs(10);

/// Time between two looks for a signal, in ms.
const LOOK_MS: u16 = 50;

impl FromStr for ServerKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match BUILT_IN.into_iter().find(|(name, _)| *name == text) {
            Some((_, kind)) => Ok(kind),
            None if text.contains('/') => Ok(ServerKind::Program(text.into())),
            None => {
                let names = BUILT_IN.map(|(name, _)| name).join(", ");
                Err(format!("there is no such server: write {names}, or a path with a /"))
            }
        }
    }
}

impl ServerKind {
    /// Tokio's runtime, if it has one.
    pub(crate) fn runtime(&self, workers: Option<u32>) -> Option<RuntimeFlags> {
        match self {
            ServerKind::TokioCurrentThread => {
                Some(RuntimeFlags { flavor: Flavor::CurrentThread, workers })
            }
            ServerKind::Tokio | ServerKind::TokioSpawn => Some(RuntimeFlags::multi_thread(workers)),
            _ => None,
        }
    }

    /// Threads that it starts, but those of a runtime: a fixed number, and one for each connection.
    pub(crate) fn threads(&self) -> anyhow::Result<[u32; 2]> {
        match self {
            ServerKind::Epoll => Ok([1, 0]),
            ServerKind::EpollPerCpu | ServerKind::EpollPool => {
                Ok([allowed_cpus()?.len() as u32, 0])
            }
            ServerKind::Thread => Ok([0, 1]),
            _ => Ok([0, 0]),
        }
    }

    /// What switches between the connections.
    pub(crate) fn claim(&self) -> Claim {
        match self {
            ServerKind::Thread => Claim::KernelSwitch,
            ServerKind::Io
            | ServerKind::Epoll
            | ServerKind::EpollPerCpu
            | ServerKind::EpollPool => Claim::NoSwitch,
            ServerKind::TokioCurrentThread
            | ServerKind::Tokio
            | ServerKind::TokioSpawn
            | ServerKind::Program(_) => Claim::UserSwitch,
        }
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
    pub(crate) fn fork(
        cli: &Cli,
        listener: TcpListener,
        group: Option<&QuotaGroup>,
    ) -> anyhow::Result<Self> {
        let (says, tell) = pipe2(OFlag::O_CLOEXEC).context("cannot make a pipe")?;
        // SAFETY: this process has one thread.
        let child = unsafe { process::fork(|| live(cli, listener, tell, group)) };
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

    /// Threads that it has, where there is a /proc.
    pub(crate) fn threads(&self) -> Option<u64> {
        Some(fs::read_dir(format!("/proc/{}/task", self.pid())).ok()?.count() as u64)
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
fn live(cli: &Cli, listener: TcpListener, tell: OwnedFd, group: Option<&QuotaGroup>) -> i32 {
    // Before a runtime asks how many CPUs there are.
    let joined = group.map_or(Ok(()), QuotaGroup::join);
    let Err(error) = joined.and_then(|()| serve(cli, listener, tell));
    console::say(&format!("arrivals: the server: {error:#}"));
    1
}

fn serve(cli: &Cli, listener: TcpListener, tell: OwnedFd) -> anyhow::Result<Infallible> {
    let time = cli.work.map_or(Duration::ZERO, Duration::from);
    let echo = Echo { size: cli.size.0 as usize, multiplications: multiplications(time) };
    let connections = cli.flags.tasks as usize;
    let [threads, _] = cli.on.threads()?.map(|threads| threads as usize);
    match &cli.on {
        ServerKind::Io => {
            let window = client::requests(cli.rate) as usize;
            io_alone(&listener, connections, window, echo)
        }
        ServerKind::Epoll | ServerKind::EpollPerCpu => {
            event_loops(&listener, connections, echo, threads, threads)
        }
        ServerKind::EpollPool => event_loops(&listener, connections, echo, threads, 1),
        ServerKind::Thread => thread_per_connection(&listener, echo),
        ServerKind::TokioCurrentThread | ServerKind::Tokio | ServerKind::TokioSpawn => {
            let flags = cli.on.runtime(cli.workers).unwrap_or_default();
            let runtime = flags.build(|builder| builder.enable_io())?;
            let spawns = cli.on == ServerKind::TokioSpawn;
            runtime.block_on(task_per_connection(listener, echo, spawns))
        }
        ServerKind::Program(path) => {
            signals::restore()?;
            // A terminal signals this process's group, and not the program's.
            let mut program = Command::new(path);
            let program = program.stdin(OwnedFd::from(listener)).stdout(tell).process_group(0);
            Err(program.exec()).with_context(|| format!("--on {}", path.display()))
        }
    }
}
