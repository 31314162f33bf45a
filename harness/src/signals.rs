//! Signals: the first one that asks to stop ends the measurement, the second one what is still in
//! the way; and how often the process was stopped and continued.

#![expect(
    unsafe_code,
    reason = "signal handlers are installed, and one sends a signal on"
)]

use std::io::{self, Write};
use std::marker::PhantomData;
use std::os::fd::BorrowedFd;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::thread;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, SigmaskHow, Signal, sigaction};

use crate::policy;

/// The signals that ask to stop: Ctrl-C, kill(1), and a terminal that has gone away. SIGQUIT keeps
/// its default effect, an end at once with a core; SIGPIPE is ignored by the standard library.
const STOPPING: [Signal; 3] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP];

/// Signals closer together than this are one request: a terminal and a parent both pass Ctrl-C on,
/// and timeout(1) sends its signal to the process and then to its group. In ns.
const APART: i64 = 500_000_000;

/// The number of the signal that came first, or 0.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// How often the process was asked to stop.
static REQUESTS: AtomicU32 = AtomicU32::new(0);

/// When it was asked last, in ns of the monotonic clock, or 0.
static REQUESTED: AtomicI64 = AtomicI64::new(0);

/// How often SIGCONT came.
static CONTINUED: AtomicU64 = AtomicU64::new(0);

/// The child that is to stop too, as kill(2) names it: a process, or a group by its negative; or 0.
static CHILD: AtomicI32 = AtomicI32::new(0);

/// What is said where a process ends at once.
static LAST_WORDS: OnceLock<Vec<u8>> = OnceLock::new();

extern "C" fn note(signal: libc::c_int) {
    let errno = Errno::last_raw();
    if signal == libc::SIGCONT {
        CONTINUED.fetch_add(1, Ordering::Relaxed);
    } else if is_new_request() {
        obey(signal);
    }
    // Whatever was interrupted may be about to look at it.
    Errno::set_raw(errno);
}

/// Whether this signal is not the double of another.
#[allow(
    clippy::unnecessary_cast,
    reason = "a timespec has smaller numbers on 32-bit systems"
)]
fn is_new_request() -> bool {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: clock_gettime is async-signal-safe and writes to `time` alone.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    let now = (time.tv_sec as i64 * 1_000_000_000 + time.tv_nsec as i64).max(1);
    let last = REQUESTED.load(Ordering::Relaxed);
    let is_double = last != 0 && now - last < APART;
    // Where two threads take two signals at once, one of them is the double.
    !is_double
        && REQUESTED
            .compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
}

/// The first request ends the measurement, and asks a child to end. The second kills a child that
/// is still there, so that its parent can go on to print what it has; where there is none, and
/// with the third, the process ends at once.
fn obey(signal: libc::c_int) {
    let _ = RECEIVED.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
    let child = CHILD.load(Ordering::Relaxed);
    match REQUESTS.fetch_add(1, Ordering::Relaxed) {
        // By SIGTERM: a terminal's Ctrl-C has sent SIGINT already to a child in this group.
        0 => send(child, libc::SIGTERM),
        1 if child != 0 => send(child, libc::SIGKILL),
        _ => {
            send(child, libc::SIGKILL);
            let words = LAST_WORDS.get().map_or(&[][..], Vec::as_slice);
            // SAFETY: write and _exit are async-signal-safe; `words` is alive as long as the
            // process, and no longer written to.
            unsafe {
                libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len());
                libc::_exit(128 + taken().unwrap_or(signal));
            }
        }
    }
}

fn send(child: i32, signal: libc::c_int) {
    if child != 0 {
        // SAFETY: kill is async-signal-safe and touches no memory. A child that has ended is
        // still there to be signalled until its parent has waited for it.
        unsafe { libc::kill(child, signal) };
    }
}

/// While it lives, a signal to this process stops a child as well.
pub(crate) struct Relay;

impl Relay {
    pub(crate) fn to(child: i32) -> Self {
        CHILD.store(child, Ordering::Relaxed);
        // The signal may have come while the child was being started.
        if received().is_some() {
            send(child, libc::SIGTERM);
        }
        Relay
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        CHILD.store(0, Ordering::Relaxed);
    }
}

/// Takes over the signals that ask to stop, and SIGCONT, which tells that the process was stopped.
/// Reads and writes that a signal cuts short go on by themselves (SA_RESTART), so that the lap
/// under way ends as usual. `name` is said where the process has to end at once.
///
/// # Errors
/// What sigaction(2) reports.
pub fn install(name: &str) -> nix::Result<()> {
    let mut words = Vec::new();
    // Writing into memory does not fail.
    let _ = writeln!(
        words,
        "{name}: interrupted again: ended at once, and what was not printed or stored is lost"
    );
    // A second call keeps the first one's name.
    let _ = LAST_WORDS.set(words);
    let action = SigAction::new(
        SigHandler::Handler(note),
        SaFlags::SA_RESTART,
        SigSet::empty(),
    );
    for signal in STOPPING.into_iter().chain([Signal::SIGCONT]) {
        // SAFETY: the handler only uses atomics, clock_gettime, kill, write and _exit, which are
        // async-signal-safe, and it keeps errno.
        let before = unsafe { sigaction(signal, &action) }?;
        if signal == Signal::SIGHUP && matches!(before.handler(), SigHandler::SigIgn) {
            // As nohup(1) wants it.
            // SAFETY: it was in force a moment ago.
            unsafe { sigaction(signal, &before) }?;
        }
    }
    Ok(())
}

/// The signal that asked this process to stop, if one did. Under a real-time policy other threads
/// run first: the one that takes the signal may be waiting for this CPU.
pub fn received() -> Option<i32> {
    policy::give_way();
    taken()
}

fn taken() -> Option<i32> {
    match RECEIVED.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(signal),
    }
}

/// Sleeps until a descriptor can be read or its other end is closed (true), or a signal asks to
/// stop (false). Only for a process whose other threads leave signals alone.
///
/// # Errors
/// What ppoll(2) reports.
pub fn await_readable(fd: BorrowedFd<'_>) -> nix::Result<bool> {
    // Blocked until ppoll sleeps: a signal between the look and the sleep would be slept over.
    let before = blocked().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let outcome = loop {
        if received().is_some() {
            break Ok(false);
        }
        let mut fds = [PollFd::new(fd, PollFlags::POLLIN)];
        match ppoll(&mut fds, None, Some(before)) {
            Ok(_) => break Ok(true),
            Err(Errno::EINTR) => {}
            Err(e) => break Err(e),
        }
    };
    before.thread_set_mask()?;
    outcome
}

/// The signals that a thread has to leave to the others. A thread inherits what is blocked where
/// it is spawned.
fn blocked() -> SigSet {
    STOPPING.into_iter().collect()
}

/// Spawns a thread that leaves the signals to its parent.
///
/// # Errors
/// What the system reports.
pub fn spawn_aside(body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let before = blocked().thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
    let spawned = thread::Builder::new().spawn(body);
    before.thread_set_mask()?;
    spawned.map(drop)
}

/// While it lives, signals wait: none interrupts the calling thread, nor any that this creates.
#[derive(Debug)]
pub struct Deaf {
    before: SigSet,
    /// A mask belongs to one thread.
    here: PhantomData<*const ()>,
}

impl Deaf {
    /// From now on.
    ///
    /// # Errors
    /// What pthread_sigmask(3) reports.
    pub fn now() -> nix::Result<Self> {
        let before = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
        Ok(Deaf {
            before,
            here: PhantomData,
        })
    }
}

impl Drop for Deaf {
    fn drop(&mut self) {
        // It was in force before, so that there is nothing to refuse.
        let _ = self.before.thread_set_mask();
    }
}

/// In a process that was forked: leaves the signals that ask to stop, and the count of stops, to its
/// parent. A terminal sends them to all processes of a group, and the parent decides what follows.
/// No handler is left, not even those of the standard library, which has words for a stack that is
/// at its end.
///
/// # Errors
/// What sigaction(2) reports.
pub fn leave_to_parent() -> nix::Result<()> {
    let ignored = STOPPING.map(|signal| (signal, SigHandler::SigIgn));
    let default = [Signal::SIGCONT, Signal::SIGSEGV, Signal::SIGBUS]
        .map(|signal| (signal, SigHandler::SigDfl));
    for (signal, handler) in ignored.into_iter().chain(default) {
        let action = SigAction::new(handler, SaFlags::empty(), SigSet::empty());
        // SAFETY: no handler is set.
        unsafe { sigaction(signal, &action) }?;
    }
    Ok(())
}

/// How often this process was continued after it had been stopped (SIGSTOP, Ctrl-Z).
pub(crate) fn continued() -> u64 {
    CONTINUED.load(Ordering::Relaxed)
}
