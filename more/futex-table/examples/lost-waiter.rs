//! Is a waiter lost when the process gets a table of futexes of its own?
//!
//! A process without threads has no such table: a wait by io_uring on a private futex (IORING_OP_FUTEX_WAIT) is in the
//! system's table. The first thread creates the process's own table, and wake-ups then search that one. A second wait,
//! with the table in place, is the control. Exit status 0: both waiters were woken; 1: the first one was not, within a
//! second; 2: it cannot be told. `cargo run --release -p futex-table --example lost-waiter`
//! (github.com/lalinsky/zio/pull/402)

#![expect(unsafe_code, reason = "the kernel is given a word to wait on")]

use std::io;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use brigade::futex;
use host::console;
use io_uring::{IoUring, Probe, opcode};

const PATIENCE: Duration = Duration::from_secs(1);

fn main() -> anyhow::Result<ExitCode> {
    let (word, code) = match is_woken() {
        Ok(true) => ("pass: the wake-up found the waiter", 0),
        Ok(false) => ("fail: the wake-up found nobody", 1),
        Err(e) => {
            console::say(&format!("lost-waiter: {e:#}"));
            return Ok(ExitCode::from(2));
        }
    };
    console::print(&format!("{word}\n"))?;
    Ok(ExitCode::from(code))
}

/// True if a wait that began before the first thread is woken after it.
fn is_woken() -> anyhow::Result<bool> {
    static WORDS: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];
    let mut ring = IoUring::new(4).context("io_uring is not available: io_uring_setup(2)")?;
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe).context("io_uring is not available: no probe")?;
    ensure!(probe.is_supported(opcode::FutexWait::CODE), "there is no IORING_OP_FUTEX_WAIT");
    begin_wait(&mut ring, &WORDS[0])?;
    thread::Builder::new().spawn(thread::park).context("cannot create a thread")?;
    let is_woken = is_woken_on(&mut ring, &WORDS[0])?;
    begin_wait(&mut ring, &WORDS[1])?;
    ensure!(is_woken_on(&mut ring, &WORDS[1])?, "a wait with the table in place is lost too");
    Ok(is_woken)
}

fn begin_wait(ring: &mut IoUring, word: &'static AtomicU32) -> anyhow::Result<()> {
    let any = u64::from(u32::MAX);
    let wait = opcode::FutexWait::new(word.as_ptr(), 0, any, futex::PRIVATE_WORD).build();
    // SAFETY: the word is there for ever.
    unsafe { ring.submission().push(&wait) }.map_err(io::Error::other)?;
    ring.submit().context("io_uring_enter(2)")?;
    ensure!(ring.completion().is_empty(), "a wait has ended before its wake-up");
    Ok(())
}

/// Wakes the waiter, and waits for it.
fn is_woken_on(ring: &mut IoUring, word: &AtomicU32) -> anyhow::Result<bool> {
    word.store(1, Ordering::Release);
    futex::wake(word);
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        ring.submit().context("io_uring_enter(2)")?;
        if let Some(completion) = ring.completion().next() {
            ensure!(completion.result() == 0, "the wait has failed: {}", completion.result());
            return Ok(true);
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(false)
}
