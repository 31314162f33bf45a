//! The ring: its size, its mode, and the reason if the kernel refuses it.

use std::fs;
use std::io;

use anyhow::{Context, anyhow};
use brigade::{ChainFlags, allowed_cpus};
use clap::ValueEnum;
use contract::message::{Need, Needs};
use io_uring::{Builder, IoUring};
use nix::errno::Errno;

/// Modes of a ring: flags of io_uring_setup(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Setup {
    /// without flags: a completion interrupts the thread
    Plain,
    /// only one thread submits, and completions wait until it asks for them: IORING_SETUP_SINGLE_ISSUER and
    /// IORING_SETUP_DEFER_TASKRUN (Linux 6.1)
    Deferred,
    /// a kernel thread takes the submissions (IORING_SETUP_SQPOLL); it runs on the last CPU that this process may use,
    /// and spins for 1 s before it sleeps, or for 1 ms if that is the only CPU
    Sqpoll,
}

/// Bytes that a waiting task takes: its operations, here and in the kernel.
const TASK_BYTES: u64 = 3 << 10;

/// Bytes of an entry of the submission queue and of two completions.
const ENTRY_BYTES: u64 = 64 + 2 * 16;

/// CPU of the kernel thread of `sqpoll`, and the ms that it spins. Without a CPU it could run on any
/// (`io_sq_thread`, io_uring/sqpoll.c), whatever the affinity of its process.
pub(crate) fn poller() -> anyhow::Result<(u32, u32)> {
    let cpus = allowed_cpus()?;
    let last = cpus.last().context("this process may not use any CPU")?;
    Ok((*last as u32, if cpus.len() > 1 { 1000 } else { 1 }))
}

/// Entries of the submission queue for a chain; there are twice as many for completions. Between two waits
/// each token begins a write and a read. The ring is small, so that it fits the nearest cache; a full queue
/// is submitted early.
pub(crate) fn entries(chain: &ChainFlags) -> u32 {
    let busy = chain.tokens.min(chain.tasks().saturating_add(1));
    busy.clamp(32, 2048).next_power_of_two() * 2
}

impl Setup {
    /// Sets the flags, and returns the first version of Linux that has them.
    fn apply(self, builder: &mut Builder) -> anyhow::Result<&'static str> {
        Ok(match self {
            Setup::Plain => "5.7",
            Setup::Deferred => {
                builder.setup_single_issuer().setup_defer_taskrun();
                "6.1"
            }
            Setup::Sqpoll => {
                let (cpu, idle_ms) = poller()?;
                builder.setup_sqpoll(idle_ms).setup_sqpoll_cpu(cpu);
                "5.11"
            }
        })
    }

    /// Needs of the ring and the operations of the tasks.
    pub(crate) fn needs(self, entries: u32) -> Needs {
        let queues = u64::from(entries) * ENTRY_BYTES;
        Needs {
            descriptors: Need::new(1, 0),
            threads: Need::new(u64::from(self == Setup::Sqpoll), 0),
            maps: Need::new(4, 0),
            bytes: Need::new(2 * queues + (64 << 10), TASK_BYTES),
            ..Needs::default()
        }
    }

    /// Sets a ring up. An error says why io_uring is not available, and the remedy.
    pub(crate) fn open(self, entries: u32) -> anyhow::Result<IoUring> {
        let mut builder = IoUring::builder();
        let version = self.apply(&mut builder)?;
        let errno = |e: io::Error| Errno::from_raw(e.raw_os_error().unwrap_or(0));
        let ring = builder.build(entries).map_err(|e| unavailable(errno(e), version))?;
        let kernel = ring.params();
        let is_polled = self == Setup::Sqpoll;
        if !kernel.is_feature_fast_poll() || is_polled && !kernel.is_feature_sqpoll_nonfixed() {
            return Err(unavailable(Errno::EINVAL, version));
        }
        Ok(ring)
    }
}

/// Why io_uring_setup(2) failed; `version` is the first Linux with the mode that was asked for.
fn unavailable(errno: Errno, version: &str) -> anyhow::Error {
    let (disabled, release) = (parameter("io_uring_disabled"), parameter("osrelease"));
    let why = match errno {
        Errno::EPERM if disabled == "1" || disabled == "2" => format!(
            "kernel.io_uring_disabled is {disabled} (1 allows it with CAP_SYS_ADMIN or in the group \
             kernel.io_uring_group, 2 forbids it): run sudo sysctl -w kernel.io_uring_disabled=0"
        ),
        Errno::EPERM | Errno::ENOSYS => format!(
            "a system-call filter, as in a container, denies io_uring_setup (docker run --security-opt \
             seccomp=FILE can allow it), or this kernel ({release}) was built without CONFIG_IO_URING"
        ),
        Errno::EINVAL => format!(
            "this --setup needs Linux {version} or later (plain needs 5.7), but this is {release}"
        ),
        _ => format!("cannot set up the ring: {errno}"),
    };
    anyhow!("io_uring is not available: {why} (async-brigade does the same with epoll)")
}

/// Text of a kernel parameter, empty if there is none.
fn parameter(name: &str) -> String {
    let text = fs::read_to_string(format!("/proc/sys/kernel/{name}"));
    text.unwrap_or_default().trim().to_owned()
}
