//! Standard output and standard error, and what to do when they are not there.

#![expect(unsafe_code, reason = "descriptor 1 is looked at before `main`")]

use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::fault::{BAD_USAGE, BadUsage, COULD_NOT_MEASURE};
use crate::plain::plain;

/// Whether the program was started with descriptor 1 closed. By the time `main` runs, the
/// standard library has put /dev/null there, and a result would vanish without a word.
static STDOUT_CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn look_at_stdout() {
    // SAFETY: fcntl with F_GETFD only looks a descriptor up, and needs nothing to be set up.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    STDOUT_CLOSED.store(flags == -1, Ordering::Relaxed);
}

/// The C library calls the functions of this section before `main`.
// SAFETY: the section holds pointers to functions of this type, and nothing else.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK_AT_STDOUT: extern "C" fn() = look_at_stdout;

/// Writes to standard output in one go. A reader that has gone away is no error.
pub fn print(write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) -> io::Result<()> {
    let mut text = Vec::new();
    write(&mut text)?;
    if STDOUT_CLOSED.load(Ordering::Relaxed) && !text.is_empty() {
        return Err(io::Error::other(
            "standard output is closed: redirect it to a file or a pipe",
        ));
    }
    let mut stdout = io::stdout().lock();
    match stdout.write_all(&text).and_then(|()| stdout.flush()) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Says on standard error what went wrong.
pub fn complain(name: &str, error: &anyhow::Error) -> ExitCode {
    say(format_args!("{name}: {error:#}"));
    ExitCode::from(match error.downcast_ref::<BadUsage>() {
        Some(_) => BAD_USAGE,
        None => COULD_NOT_MEASURE,
    })
}

/// Says something on standard error, as [`plain`] text: messages quote files and other programs.
/// Where nobody listens any more, nothing is left to be done.
pub fn say(text: fmt::Arguments<'_>) {
    let text = text.to_string();
    let _ = writeln!(io::stderr(), "{}", plain(&text));
}
