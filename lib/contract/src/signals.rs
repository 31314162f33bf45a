//! Signals that ask a program to stop: the first ends the measurement, a second one the process.

#![expect(unsafe_code, reason = "signal handlers are installed")]

use std::sync::atomic::{AtomicI32, AtomicI64, Ordering};

use nix::errno::Errno;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// Ctrl-C, kill(1), a terminal that has gone away, Ctrl-\, and what else people and alarms send to a process that
/// does not expect it. By default each of them ends a process, whose children's children then stay.
pub const STOPPING: [Signal; 7] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
];

/// Signals closer together than this are one request, in ns: a terminal and a parent both pass Ctrl-C
/// on, and timeout(1) signals the process and then its group.
const ONE_REQUEST: i64 = 500_000_000;

/// Number of the first signal, or 0.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// Time of that signal on the monotonic clock, in ns.
static RECEIVED_AT: AtomicI64 = AtomicI64::new(0);

extern "C" fn note(signal: libc::c_int) {
    let errno = Errno::last_raw();
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime is async-signal-safe and writes to `time` alone.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    #[expect(clippy::unnecessary_cast, reason = "they are narrower on 32-bit systems")]
    let now = time.tv_sec as i64 * 1_000_000_000 + time.tv_nsec as i64;
    let first = RECEIVED.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
    match first {
        Ok(_) => RECEIVED_AT.store(now, Ordering::Relaxed),
        Err(first) if now - RECEIVED_AT.load(Ordering::Relaxed) > ONE_REQUEST => {
            let words = b"interrupted again: ended at once\n";
            // SAFETY: write and _exit are async-signal-safe; `words` is a constant.
            unsafe {
                libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len());
                libc::_exit(128 + first);
            }
        }
        Err(_) => {}
    }
    // Whatever was interrupted may be about to look at it.
    Errno::set_raw(errno);
}

/// Takes the signals over, and has children awaited as usual, which a parent that ignores SIGCHLD would
/// prevent. A write past `ulimit -f` fails with an error. Reads and writes that a signal cuts short go on by
/// themselves (SA_RESTART), so that the iteration under way ends as usual.
pub fn install() -> nix::Result<()> {
    for signal in STOPPING {
        let before = set(signal, SigHandler::Handler(note))?;
        if signal == Signal::SIGHUP && matches!(before, SigHandler::SigIgn) {
            // As nohup(1) wants it.
            set(signal, before)?;
        }
    }
    set(Signal::SIGCHLD, SigHandler::SigDfl)?;
    // In this thread and in those that it starts. posix_spawn(3) blocks it in the calling thread alone, and if a
    // child ends before it returns, the kernel wakes another thread for it, such as an idle task.
    SigSet::from(Signal::SIGCHLD).thread_block()?;
    set(Signal::SIGXFSZ, SigHandler::SigIgn)?;
    Ok(())
}

/// In a forked child: leaves the signals to its parent, which decides what follows.
pub fn leave_to_parent() -> nix::Result<()> {
    STOPPING.into_iter().try_for_each(|signal| set(signal, SigHandler::SigIgn).map(drop))
}

/// Sets the handler of a signal, and returns the one before.
fn set(signal: Signal, handler: SigHandler) -> nix::Result<SigHandler> {
    let action = SigAction::new(handler, SaFlags::SA_RESTART, SigSet::empty());
    // SAFETY: the only handler is `note`, which uses atomics, clock_gettime, write and _exit alone, all of them
    // async-signal-safe, and keeps errno.
    Ok(unsafe { sigaction(signal, &action) }?.handler())
}

/// Signal that asked this process to stop.
pub fn received() -> Option<i32> {
    let signal = RECEIVED.load(Ordering::Relaxed);
    (signal != 0).then_some(signal)
}
