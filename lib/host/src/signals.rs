//! Signals that ask a process to stop, counted as requests. A program that has measured nothing yet ends at the first
//! one. Any other program ends its measurement at the first and itself at the second. The runner ends the measured
//! program at the first, kills it at the second, and ends itself at the third. SIGABRT is explained, too.

#![expect(unsafe_code, reason = "signal handlers are installed")]

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, sigaction};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::{pipe2, read, write};

/// Ctrl-C, kill(1), a closed terminal, Ctrl-\, and other signals that people and alarms send. By default, each of them
/// ends a process and leaves its grandchildren running.
const STOPPING: [Signal; 7] = [
    Signal::SIGINT,
    Signal::SIGTERM,
    Signal::SIGHUP,
    Signal::SIGQUIT,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
];

/// Signals closer together than this are one request, in ms: a terminal and a parent both pass Ctrl-C on, and
/// timeout(1) signals the process and then its group.
const ONE_REQUEST: i64 = 500;

/// Request at which a program, or the runner, ends at once.
static LAST: AtomicU32 = AtomicU32::new(1);

/// Number of the first signal, or 0.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// Requests so far, and the time of the last one in ms of the monotonic clock, or 0.
static REQUESTS: AtomicU32 = AtomicU32::new(0);
static REQUESTED_AT: AtomicI64 = AtomicI64::new(0);

/// The runner's pipe that has a byte for each request: poll(2) sees it.
static PIPE: OnceLock<(OwnedFd, OwnedFd)> = OnceLock::new();

extern "C" fn note(signal: libc::c_int) {
    let errno = Errno::last_raw();
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(1, |t| Duration::from(t).as_millis());
    let (now, before) = (now as i64, REQUESTED_AT.load(Ordering::Relaxed));
    if before == 0 || now - before >= ONE_REQUEST {
        REQUESTED_AT.store(now, Ordering::Relaxed);
        let _ = RECEIVED.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
        let requests = REQUESTS.fetch_add(1, Ordering::Relaxed) + 1;
        if requests >= LAST.load(Ordering::Relaxed) {
            let words = match requests {
                1 => "interrupted before the first iteration\n",
                _ => "interrupted again: ended at once\n",
            };
            end(128 + RECEIVED.load(Ordering::Relaxed), words);
        }
        if let Some((_, end)) = PIPE.get() {
            // A pipe that is full has woken poll(2) already.
            let _ = write(end, b"!");
        }
    }
    // Whatever was interrupted may be about to look at it.
    Errno::set_raw(errno);
}

/// The standard library aborts if memory is refused, even the memory for a new thread's signal stack.
extern "C" fn explain_abort(_: libc::c_int) {
    end(
        1,
        "aborted: memory was refused, or this is a bug: raise `ulimit -v`, or lower the flags that ask for tasks, threads or memory\n",
    )
}

/// Ends the process with a status and words on standard error, where a runner finds them; async-signal-safe.
fn end(status: i32, words: &str) -> ! {
    // SAFETY: write and _exit are async-signal-safe, and the words are there during the calls.
    unsafe {
        libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len());
        libc::_exit(status)
    }
}

/// Has an abort end this process with words and status 1.
pub fn explain_aborts() -> nix::Result<()> {
    set(Signal::SIGABRT, SigHandler::Handler(explain_abort)).map(drop)
}

/// Says that a program begins to measure: from now on, the first request leaves it time to tell what it has measured.
pub fn begin_to_measure() {
    LAST.store(2, Ordering::Relaxed);
}

/// Takes the signals over in the runner. Before a run begins they have their usual effect.
pub fn install() -> io::Result<()> {
    LAST.store(3, Ordering::Relaxed);
    if PIPE.set(pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?).is_ok() {
        take_over()?;
    }
    Ok(())
}

/// Takes the signals over in a program, and has children awaited as usual, which a parent that ignores SIGCHLD would
/// prevent. A write past `ulimit -f` fails with an error.
pub fn install_in_program() -> nix::Result<()> {
    take_over()?;
    explain_aborts()?;
    set(Signal::SIGCHLD, SigHandler::SigDfl)?;
    // In this thread and in those that it starts. posix_spawn(3) blocks it in the calling thread alone, and if a
    // child ends before it returns, the kernel wakes another thread for it, such as an idle task.
    SigSet::from(Signal::SIGCHLD).thread_block()?;
    set(Signal::SIGXFSZ, SigHandler::SigIgn)?;
    Ok(())
}

/// Reads and writes that a signal cuts short go on by themselves (SA_RESTART), so that the iteration under way ends
/// as usual.
fn take_over() -> nix::Result<()> {
    for signal in STOPPING {
        let before = set(signal, SigHandler::Handler(note))?;
        if signal == Signal::SIGHUP && matches!(before, SigHandler::SigIgn) {
            // As nohup(1) wants it.
            set(signal, before)?;
        }
    }
    Ok(())
}

/// In a forked child: leaves the signals to its parent, which decides what follows.
pub fn leave_to_parent() -> nix::Result<()> {
    STOPPING.into_iter().try_for_each(|signal| set(signal, SigHandler::SigIgn).map(drop))
}

/// Blocks the signals that end a run, and SIGCHLD, which [`next_blocked`] then awaits. Returns the mask before.
pub fn block() -> nix::Result<SigSet> {
    awaited().thread_swap_mask(SigmaskHow::SIG_BLOCK)
}

/// Awaits one of the signals that [`block`] has blocked.
pub fn next_blocked() -> nix::Result<Signal> {
    awaited().wait()
}

fn awaited() -> SigSet {
    STOPPING.into_iter().chain([Signal::SIGCHLD]).collect()
}

/// Has the commands that this program starts write past `ulimit -f` with the usual effect. What this program handles, the
/// kernel resets by itself.
pub fn restore_for_commands() -> nix::Result<()> {
    set(Signal::SIGXFSZ, SigHandler::SigDfl).map(drop)
}

/// Before a forked child becomes another program: each signal has its usual effect.
pub fn restore() -> nix::Result<()> {
    let changed = STOPPING.into_iter().chain([Signal::SIGXFSZ]);
    changed.into_iter().try_for_each(|signal| set(signal, SigHandler::SigDfl).map(drop))
}

/// Sets the handler of a signal, and returns the one before.
fn set(signal: Signal, handler: SigHandler) -> nix::Result<SigHandler> {
    let action = SigAction::new(handler, SaFlags::SA_RESTART, SigSet::empty());
    // SAFETY: the handlers use atomics, clock_gettime, write and _exit alone, all of them async-signal-safe, and keep errno.
    Ok(unsafe { sigaction(signal, &action) }?.handler())
}

/// Signal that asked this process to stop.
pub fn received() -> Option<i32> {
    Some(RECEIVED.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
}

/// Number of requests to stop so far.
pub fn requests() -> u32 {
    REQUESTS.load(Ordering::Relaxed)
}

/// A descriptor of the runner's that can be read once for each request; `None` before [`install`].
pub fn descriptor() -> Option<BorrowedFd<'static>> {
    PIPE.get().map(|(end, _)| end.as_fd())
}

/// Empties that descriptor.
pub fn drain() {
    if let Some((end, _)) = PIPE.get() {
        let mut bytes = [0; 16];
        // An empty pipe is an error, the only one that can come.
        while read(end, &mut bytes).is_ok_and(|n| n > 0) {}
    }
}
