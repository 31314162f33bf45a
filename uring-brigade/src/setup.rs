//! The ring: how large it is, which of the kernel's modes it is in, and what is told where there is
//! none to be had.

use std::fmt::Write;
use std::io;

use anyhow::{Context, anyhow};
use clap::ValueEnum;
use harness::limits::{self, Demand, Need};
use harness::links::Transport;
use harness::machine::Machine;
use harness::payload::Payload;
use io_uring::register::Probe;
use io_uring::{Builder, IoUring, opcode};
use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;
use serde::Serialize;

use crate::ring::Pool;

/// Modes of a ring, each a flag or two of io_uring_setup(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Setup {
    /// none: what completes interrupts the thread, whatever it is at
    Plain,
    /// IORING_SETUP_COOP_TASKRUN (Linux 5.19): what completes waits until the thread enters the
    /// kernel for any reason
    Cooperative,
    /// IORING_SETUP_SINGLE_ISSUER (6.0): one thread alone submits
    SingleIssuer,
    /// the same with IORING_SETUP_DEFER_TASKRUN (6.1): what completes waits until the thread asks
    /// for completions
    Deferred,
    /// IORING_SETUP_SQPOLL: a thread of the kernel takes the submissions and spins for more, on
    /// the last CPU that this process may use; for a second before it sleeps, or a millisecond
    /// where that is the only CPU
    Sqpoll,
}

/// The kernel's thread of `sqpoll`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Poller {
    /// The CPU that it is bound to.
    pub(crate) cpu: u32,
    /// How long it spins before it sleeps, in ms.
    pub(crate) idle: u32,
}

/// What is asked of a ring.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Its mode.
    pub(crate) setup: Setup,
    /// Entries of the submission queue, a power of two; twice as many completions find room.
    pub(crate) entries: u32,
    /// What is read by operations that stay, and into what.
    pub(crate) multishot: Option<(Transport, Pool)>,
}

impl Setup {
    /// The flags, and the first version of Linux that knows them.
    fn apply(self, builder: &mut Builder) -> anyhow::Result<&'static str> {
        let version = match self {
            Setup::Plain => "5.7",
            Setup::Cooperative => {
                builder.setup_coop_taskrun();
                "5.19"
            }
            Setup::SingleIssuer => {
                builder.setup_single_issuer();
                "6.0"
            }
            Setup::Deferred => {
                builder.setup_single_issuer().setup_defer_taskrun();
                "6.1"
            }
            Setup::Sqpoll => {
                let poller = Poller::new()?;
                builder
                    .setup_sqpoll(poller.idle)
                    .setup_sqpoll_cpu(poller.cpu);
                "5.11"
            }
        };
        Ok(version)
    }
}

impl Poller {
    /// On the last CPU that this process may use. By itself it could run on any (`io_sq_thread` in
    /// io_uring/sqpoll.c), whatever its process is confined to. Where that is the only CPU, it spins
    /// for a moment only: under a real-time policy nobody else runs meanwhile.
    ///
    /// # Errors
    /// What sched_getaffinity(2) reports.
    pub(crate) fn new() -> anyhow::Result<Self> {
        let allowed = sched_getaffinity(Pid::from_raw(0))?;
        let is_allowed = |&cpu: &usize| allowed.is_set(cpu).unwrap_or(false);
        let mut cpus = (0..CpuSet::count()).rev().filter(is_allowed);
        let last = cpus.next().context("this process may use no CPU")?;
        Ok(Poller {
            cpu: last as u32,
            idle: if cpus.next().is_some() { 1000 } else { 1 },
        })
    }
}

impl Shape {
    /// A ring for so many tasks and tokens: as many operations as there are tokens begin between
    /// two waits, of a write and a read each. It stays small, so that it fits the nearest cache,
    /// and is bounded: a full queue is submitted early.
    pub(crate) fn of(
        setup: Setup,
        tasks: u32,
        tokens: u32,
        multishot: Option<(Transport, Payload)>,
    ) -> Self {
        let busy = tokens.min(tasks.saturating_add(1));
        let entries = busy.clamp(32, 2048).next_power_of_two() * 2;
        let multishot = multishot
            .map(|(transport, payload)| (transport, Pool::of(payload.size(), 2 * entries)));
        Shape {
            setup,
            entries,
            multishot,
        }
    }

    /// What the ring needs of the system, and each task of it at rest: the operation that waits,
    /// here and in the kernel.
    pub(crate) fn demand(self) -> Demand {
        const SUBMISSION: u64 = 64;
        const COMPLETION: u64 = 16;
        let queues = u64::from(self.entries) * (SUBMISSION + 2 * COMPLETION);
        let need = Need {
            // The ring itself, and what compio wakes itself by.
            descriptors: 2,
            threads: u64::from(self.setup == Setup::Sqpoll),
            memory: 2 * queues + (64 << 10) + self.multishot.map_or(0, |(_, pool)| pool.memory()),
            maps: 4,
            ..Need::NONE
        };
        Demand {
            fixed: need,
            per_task: Need {
                memory: 3072,
                ..Need::NONE
            },
            shares: Vec::new(),
        }
    }

    /// Sets the ring up.
    ///
    /// # Errors
    /// Says why io_uring cannot be had here, and what would help.
    pub(crate) fn open(self, demand: &Demand) -> anyhow::Result<IoUring> {
        let mut builder = IoUring::builder();
        let version = self.setup.apply(&mut builder)?;
        let ring = builder.build(self.entries);
        let ring = ring.map_err(|e| self.explain(e, version, demand))?;
        let kernel = ring.params();
        if !kernel.is_feature_nodrop() || !kernel.is_feature_fast_poll() {
            return Err(unavailable(&too_old("--executor", "5.7")));
        }
        if self.setup == Setup::Sqpoll && !kernel.is_feature_sqpoll_nonfixed() {
            return Err(unavailable(&too_old("--setup sqpoll", version)));
        }
        self.probe(&ring)?;
        Ok(ring)
    }

    /// Asks the kernel whether it has the operations.
    fn probe(self, ring: &IoUring) -> anyhow::Result<()> {
        let mut known = Probe::new();
        let probed = ring.submitter().register_probe(&mut known);
        probed.map_err(|e| match e.raw_os_error() {
            Some(libc::EPERM | libc::ENOSYS) => unavailable(&denied("io_uring_register")),
            _ => unavailable(&format!("cannot ask for its operations: {e}")),
        })?;
        let multishot = match self.multishot.map(|(transport, _)| transport) {
            Some(Transport::Pipe) => Some((opcode::ReadMulti::CODE, "6.7")),
            // A flag of an operation that is older; the send of the same version has a number.
            Some(Transport::Socketpair) => Some((opcode::SendZc::CODE, "6.0")),
            None => None,
        };
        let plain = [
            opcode::Read::CODE,
            opcode::Write::CODE,
            opcode::AsyncCancel::CODE,
        ];
        if !plain.into_iter().all(|code| known.is_supported(code)) {
            return Err(unavailable(&too_old("--executor", "5.7")));
        }
        match multishot {
            Some((code, version)) if !known.is_supported(code) => {
                Err(unavailable(&too_old("--multishot", version)))
            }
            _ => Ok(()),
        }
    }

    /// Why a ring could not be set up: io_uring_setup(2), ERRORS.
    fn explain(self, error: io::Error, version: &str, demand: &Demand) -> anyhow::Error {
        match Errno::from_raw(error.raw_os_error().unwrap_or(0)) {
            Errno::EPERM => match Machine::read().io_uring_disabled {
                Some(value @ 1..) => unavailable(&switched_off(value.into())),
                _ => unavailable(&denied("io_uring_setup")),
            },
            Errno::ENOSYS => unavailable(&denied("io_uring_setup")),
            Errno::EINVAL => {
                let flag = format!("--setup {}", self.setup.name());
                unavailable(&too_old(&flag, version))
            }
            Errno::ENOMEM => {
                let why = "up to Linux 5.11 a ring counts against the limit of locked memory \
                    (ulimit -l): raise it, or lower --tokens, which the ring is sized by";
                anyhow!(error).context(format!("cannot set up the ring ({why})"))
            }
            _ => limits::explain("set up the ring", 0u32, 1u32, error, demand),
        }
    }
}

impl Setup {
    fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_owned())
    }
}

fn unavailable(why: &str) -> anyhow::Error {
    anyhow!(
        "io_uring is not available: {why}\nasync-brigade does the same by epoll, and needs no io_uring"
    )
}

/// `kernel.io_uring_disabled` (Linux 6.6, Documentation/admin-guide/sysctl/kernel.rst).
fn switched_off(value: u64) -> String {
    let mut why = format!("kernel.io_uring_disabled is {value}, ");
    why += match value {
        1 => "which leaves it to CAP_SYS_ADMIN and the group kernel.io_uring_group",
        _ => "which forbids it to everybody",
    };
    if value == 1
        && let Ok(group) = std::fs::read_to_string("/proc/sys/kernel/io_uring_group")
    {
        // Writing into a string does not fail.
        let _ = write!(why, " (now {})", group.trim());
    }
    why += "; to allow it until the next start: sudo sysctl -w kernel.io_uring_disabled=0";
    if value == 1 {
        why += ", or for a group of yours: sudo sysctl -w kernel.io_uring_group=$(id -g)";
    }
    why
}

/// The system call fails although no setting forbids it.
fn denied(call: &str) -> String {
    let machine = Machine::read();
    let release = machine.kernel_release.unwrap_or_default();
    match machine.seccomp {
        Some(false) => format!(
            "{call} fails, and no filter of system calls is in force: this kernel ({release}) is \
             older than 5.6 or built without CONFIG_IO_URING, or a security module forbids it"
        ),
        _ => format!(
            "{call} is denied, most likely by a filter of system calls (seccomp), such as \
             containers have: start the container with a profile that allows io_uring_setup, \
             io_uring_enter and io_uring_register (docker run --security-opt seccomp=FILE, or \
             =unconfined), or run it outside"
        ),
    }
}

fn too_old(flag: &str, version: &str) -> String {
    let release = Machine::read().kernel_release.unwrap_or_default();
    let other = match flag {
        "--multishot" => ": leave it out",
        "--executor" => "",
        _ => ": try --setup plain",
    };
    format!("{flag} needs Linux {version} or later, and this is {release}{other}")
}
