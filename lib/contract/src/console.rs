//! Standard output, standard error and panics.

#![expect(unsafe_code, reason = "descriptor 1 is looked at before `main`")]

use std::any::Any;
use std::io::{self, ErrorKind, Write};
use std::panic;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::anyhow;

/// True if descriptor 1 was closed at the start. By the time `main` runs, the standard library has put
/// /dev/null there, and a result would vanish without a word.
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

/// Writes to standard output at once.
pub fn print(text: &str) -> io::Result<()> {
    if STDOUT_CLOSED.load(Ordering::Relaxed) {
        return Err(io::Error::other("standard output is closed: redirect it to a file or a pipe"));
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Writes to standard output; a reader that has gone away is no error.
pub fn show(text: &str) -> io::Result<()> {
    match print(text) {
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes a line to standard error, control characters escaped: messages quote flags and files.
pub fn say(text: &str) {
    let mut plain = String::new();
    for c in text.chars() {
        if c.is_control() && c != '\n' {
            plain.extend(c.escape_default());
        } else {
            plain.push(c);
        }
    }
    // If nobody listens, nothing is left to be done.
    let _ = writeln!(io::stderr(), "{plain}");
}

/// First panic of the process, with its place: later ones mostly follow from it.
static FIRST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Keeps panics from standard error: they become the error of the run.
pub fn catch_panics() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map_or(String::new(), |l| format!(" at {l}"));
        let text = format!("{} (a panic{place})", payload_text(info.payload()));
        if let Ok(mut first) = FIRST_PANIC.lock() {
            first.get_or_insert(text);
        }
    }));
}

/// Cause of death of a thread or a task, from what its join returned.
pub fn panic_error(payload: &(dyn Any + Send)) -> anyhow::Error {
    let first = FIRST_PANIC.lock().ok().and_then(|first| first.clone());
    anyhow!("{}", first.unwrap_or_else(|| payload_text(payload)))
}

fn payload_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or(payload.downcast_ref::<&str>().copied());
    text.unwrap_or("no message").replace('\n', " ")
}
