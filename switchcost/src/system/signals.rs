//! Signals that ask the runner to stop: the first ends the process that measures, the second kills
//! it, the third ends the runner at once. Before a run begins they have their usual effect.

#![expect(unsafe_code, reason = "signal handlers are installed")]

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, Ordering};

use contract::signals::STOPPING;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{pipe2, read, write};

/// Signals closer together than this are one request: timeout(1) sends its signal to the process and
/// then to its group. In ms.
const APART: i64 = 500;

/// Number of requests at which the runner ends at once.
const LAST: u32 = 3;

/// Number of the first signal, or 0.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// Number of requests.
static REQUESTS: AtomicU32 = AtomicU32::new(0);

/// Time of the last request in ms of the monotonic clock, or 0.
static REQUESTED: AtomicI64 = AtomicI64::new(0);

/// A pipe that has a byte for each request: poll(2) sees it.
static PIPE: OnceLock<(OwnedFd, OwnedFd)> = OnceLock::new();

/// Counts a request, and wakes poll(2).
extern "C" fn note(signal: libc::c_int) {
    let errno = Errno::last_raw();
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC)
        .map_or(1, |t| t.tv_sec() * 1000 + t.tv_nsec() / 1_000_000);
    let last = REQUESTED.swap(now, Ordering::Relaxed);
    if last == 0 || now - last >= APART {
        let _ = RECEIVED.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
        if REQUESTS.fetch_add(1, Ordering::Relaxed) + 1 >= LAST {
            // SAFETY: _exit is async-signal-safe.
            unsafe { libc::_exit(128 + RECEIVED.load(Ordering::Relaxed)) };
        }
        if let Some((_, end)) = PIPE.get() {
            // A pipe that is full has woken poll(2) already.
            let _ = write(end, b"!");
        }
    }
    Errno::set_raw(errno);
}

/// Takes the signals over. SIGHUP stays ignored under nohup(1).
pub fn install() -> io::Result<()> {
    let pipe = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
    if PIPE.set(pipe).is_err() {
        return Ok(());
    }
    let noted = SigAction::new(SigHandler::Handler(note), SaFlags::SA_RESTART, SigSet::empty());
    for signal in STOPPING {
        // SAFETY: `note` only uses atomics, clock_gettime, write and _exit, which are
        // async-signal-safe, and keeps errno.
        let before = unsafe { sigaction(signal, &noted) }?;
        if signal == Signal::SIGHUP && matches!(before.handler(), SigHandler::SigIgn) {
            // SAFETY: it sets what was set.
            unsafe { sigaction(signal, &before) }?;
        }
    }
    Ok(())
}

/// Signal that asked the runner to stop, if one did.
pub fn received() -> Option<i32> {
    Some(RECEIVED.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
}

/// Number of requests to stop so far.
pub(crate) fn requests() -> u32 {
    REQUESTS.load(Ordering::Relaxed)
}

/// A descriptor that can be read once for each request to stop; `None` before [`install`].
pub(crate) fn descriptor() -> Option<BorrowedFd<'static>> {
    PIPE.get().map(|(end, _)| end.as_fd())
}

/// Empties that descriptor.
pub(crate) fn drain() {
    if let Some((end, _)) = PIPE.get() {
        let mut bytes = [0; 16];
        // An empty pipe is an error, the only one that can come.
        while read(end, &mut bytes).is_ok_and(|n| n > 0) {}
    }
}
