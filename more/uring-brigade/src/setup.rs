//! The ring: its size, and the reason if the kernel refuses it.

use std::fs;

use anyhow::anyhow;
use brigade::ChainFlags;
use contract::message::{Need, Needs};
use io_uring::IoUring;
use nix::errno::Errno;

/// Bytes that a waiting task takes: its operations, here and in the kernel.
const TASK_BYTES: u64 = 3 << 10;

/// Bytes of an entry of the submission queue and of two completions.
const ENTRY_BYTES: u64 = 64 + 2 * 16;

/// Entries of the submission queue for a chain; there are twice as many for completions. Between two waits
/// each token begins a write and a read. The ring is small, so that it fits the nearest cache; a full queue
/// is submitted early.
pub(crate) fn entries(chain: &ChainFlags) -> u32 {
    let busy = chain.tokens.min(chain.tasks().saturating_add(1));
    busy.clamp(32, 2048).next_power_of_two() * 2
}

/// Needs of the ring and the operations of the tasks.
pub(crate) fn needs(entries: u32) -> Needs {
    let queues = u64::from(entries) * ENTRY_BYTES;
    Needs {
        descriptors: Need::new(1, 0),
        maps: Need::new(4, 0),
        bytes: Need::new(2 * queues + (64 << 10), TASK_BYTES),
        ..Needs::default()
    }
}

/// Sets a ring up: only one thread submits, and completions wait until it asks for them (Linux 6.1). An error says why
/// io_uring is not available, and the remedy.
pub(crate) fn open(entries: u32) -> anyhow::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.setup_single_issuer().setup_defer_taskrun();
    builder.build(entries).map_err(|e| unavailable(Errno::from_raw(e.raw_os_error().unwrap_or(0))))
}

/// Why io_uring_setup(2) failed.
fn unavailable(errno: Errno) -> anyhow::Error {
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
        Errno::EINVAL => format!("it needs Linux 6.1 or later, but this is {release}"),
        _ => format!("cannot set up the ring: {errno}"),
    };
    anyhow!("io_uring is not available: {why} (async-brigade does the same with epoll)")
}

/// Text of a kernel parameter, empty if there is none.
fn parameter(name: &str) -> String {
    let text = fs::read_to_string(format!("/proc/sys/kernel/{name}"));
    text.unwrap_or_default().trim().to_owned()
}
