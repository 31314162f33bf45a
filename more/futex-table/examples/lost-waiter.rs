//! Is a waiter lost when the process gets a table of futexes of its own?
//!
//! A process without threads has none: a wait by io_uring on a private futex (IORING_OP_FUTEX_WAIT) is in the system's
//! table. The first thread brings the process's own, in which a wake-up then looks. Exit status 0: the waiter was
//! woken; 1: it was not, within a second; 2: this kernel has no such waits.
//! `cargo run --release -p futex-table --example lost-waiter` (github.com/lalinsky/zio, issue 402)

#![expect(unsafe_code, reason = "the kernel is given a word to wait on")]

use std::io;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use contract::console;
use io_uring::{IoUring, Probe, opcode};
use threads::futex::{self, Kind};

static WORD: AtomicU32 = AtomicU32::new(0);

/// FUTEX2_SIZE_U32 and FUTEX2_PRIVATE, from include/uapi/linux/futex.h.
const PRIVATE_WORD: u32 = 2 | 128;

const PATIENCE: Duration = Duration::from_secs(1);

fn main() -> anyhow::Result<ExitCode> {
    let (woken, completed) = match woken() {
        Ok(found) => found,
        Err(e) => {
            console::say(&format!("lost-waiter: {e:#}"));
            return Ok(ExitCode::from(2));
        }
    };
    let (word, code) = if completed { ("pass", 0) } else { ("fail", 1) };
    let slots = futex::table_slots(Kind::Private).unwrap_or_default();
    console::print(&format!(
        "{word}: waiters that the wake-up found: {woken}, in a table of {slots} slots\n"
    ))?;
    Ok(ExitCode::from(code))
}

/// Waiters that the wake-up found, and whether the wait has completed.
fn woken() -> anyhow::Result<(i64, bool)> {
    let mut ring = IoUring::new(4).context("io_uring is not available: io_uring_setup(2)")?;
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe).context("io_uring is not available: no probe")?;
    ensure!(probe.is_supported(opcode::FutexWait::CODE), "there is no IORING_OP_FUTEX_WAIT");
    let any = u64::from(u32::MAX);
    let wait = opcode::FutexWait::new(WORD.as_ptr(), 0, any, PRIVATE_WORD).build();
    // SAFETY: the word is there for ever.
    unsafe { ring.submission().push(&wait) }.map_err(io::Error::other)?;
    ring.submit().context("io_uring_enter(2)")?;
    ensure!(ring.completion().is_empty(), "the wait has ended before there was a wake-up");

    thread::Builder::new().spawn(thread::park).context("cannot create a thread")?;
    WORD.store(1, Ordering::Release);
    let (woken, begun) = (futex::wake(&WORD, Kind::Private), Instant::now());
    while begun.elapsed() < PATIENCE {
        ring.submit().context("io_uring_enter(2)")?;
        if let Some(completion) = ring.completion().next() {
            return Ok((woken, completion.result() == 0));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok((woken, false))
}
