//! SIGINT and SIGTERM: the first one ends the measurement, the second one the process.

#![expect(
    unsafe_code,
    reason = "signal handlers are installed, and one sends a signal on"
)]

use std::sync::atomic::{AtomicI32, Ordering};

use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};

/// The number of the signal that came, or 0.
static RECEIVED: AtomicI32 = AtomicI32::new(0);

/// The child that is to stop too, as kill(2) names it: a process, or a group by its negative; or 0.
static CHILD: AtomicI32 = AtomicI32::new(0);

extern "C" fn note(signal: libc::c_int) {
    RECEIVED.store(signal, Ordering::Relaxed);
    stop(CHILD.load(Ordering::Relaxed));
}

/// Asks a child to stop. Always by SIGTERM: a terminal's Ctrl-C has sent it SIGINT already, and a
/// second one would end it at once, with nothing printed.
fn stop(child: i32) {
    if child != 0 {
        // SAFETY: kill is async-signal-safe and touches no memory. A child that has ended is
        // still there to be signalled until its parent has waited for it.
        unsafe { libc::kill(child, libc::SIGTERM) };
    }
}

/// While it lives, a signal to this process stops a child as well.
pub(crate) struct Relay;

impl Relay {
    pub(crate) fn to(child: i32) -> Self {
        CHILD.store(child, Ordering::Relaxed);
        // The signal may have come while the child was being started.
        if received().is_some() {
            stop(child);
        }
        Relay
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        CHILD.store(0, Ordering::Relaxed);
    }
}

/// Takes SIGINT and SIGTERM over. Reads and writes that a signal cuts short go on by themselves
/// (SA_RESTART), so that the lap under way ends as usual; a second signal of the same kind has
/// its default effect again (SA_RESETHAND).
///
/// # Errors
/// What sigaction(2) reports.
pub fn install() -> nix::Result<()> {
    let action = SigAction::new(
        SigHandler::Handler(note),
        SaFlags::SA_RESTART | SaFlags::SA_RESETHAND,
        SigSet::empty(),
    );
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        // SAFETY: the handler only uses atomics and kill, which are async-signal-safe.
        unsafe { sigaction(signal, &action) }?;
    }
    Ok(())
}

/// The signal that asked this process to stop, if one did.
pub fn received() -> Option<i32> {
    match RECEIVED.load(Ordering::Relaxed) {
        0 => None,
        signal => Some(signal),
    }
}
