//! Neighbours of the batches on the same runtime, and what they notice: a heartbeat, and an echo over a
//! socket pair.
//!
//! - **Heartbeat**: a task that a kernel timer wakes at each interval, by a timerfd that the runtime's
//!   own epoll watches. A sample is the time from when the beat was due until the task runs. Beats that
//!   fell due while the task could not run are samples as well, so that a long stall weighs as much as
//!   it lasts. Tokio's own timers are not used: they count in whole ms, and round up.
//! - **Echo**: a task that writes back what it reads. Its client is the main thread, which is no worker
//!   and has nothing else to do: it sends a number at each interval, and a sample is the time until the
//!   number is back.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as Client;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use contract::message::{Need, Needs, PassKind};
use contract::samples::Recorder;
use contract::signals;
use nix::sys::timerfd::{
    ClockId as TimerClock, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags,
};
use nix::time::{ClockId, clock_gettime};
use tokio::io::unix::AsyncFd;
use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::UnixStream;
use tokio::runtime::Runtime;

/// Interval of the heartbeat and of the echo.
const INTERVAL: Duration = Duration::from_millis(1);

/// Fewest beats of a pass.
const BEATS: u64 = 100;

/// Name of the pass beside the neighbours.
pub(crate) const PASS: &str = "neighbours";

/// The pass beside the neighbours: its samples are the batches there.
pub fn pass() -> PassKind {
    PassKind { name: PASS.to_owned(), ..PassKind::main() }
}

/// Needs of the neighbours: a timer and a socket pair.
pub fn needs() -> Needs {
    Needs { descriptors: Need::new(3, 0), ..Needs::default() }
}

/// Samples of the neighbours by name.
pub(crate) type Heard = [(&'static str, Recorder); 2];

/// State that the neighbours share with the driver of the batches.
#[derive(Debug, Default)]
pub struct Progress {
    beats: AtomicU64,
    is_over: AtomicBool,
}

impl Progress {
    /// True if the driver is to go on with untimed batches, until enough beats were heard.
    pub fn wants_more(&self) -> bool {
        let is_over = self.is_over.load(Ordering::Relaxed) || signals::received().is_some();
        self.beats.load(Ordering::Relaxed) < BEATS && !is_over
    }
}

/// Runs the neighbours for as long as `more` says so, which is asked at each interval.
pub(crate) fn listen(
    runtime: &Runtime,
    progress: &Arc<Progress>,
    more: impl FnMut() -> bool,
) -> anyhow::Result<Heard> {
    let heard = run(runtime, progress, more);
    // Also if they could not start: the driver must not wait for beats.
    progress.is_over.store(true, Ordering::Relaxed);
    heard
}

fn run(
    runtime: &Runtime,
    progress: &Arc<Progress>,
    mut more: impl FnMut() -> bool,
) -> anyhow::Result<Heard> {
    let (client, server) = Client::pair().context("cannot make a socket pair")?;
    server.set_nonblocking(true)?;
    let _entered = runtime.enter();
    let server = UnixStream::from_std(server)?;
    let heartbeat = runtime.spawn(beat(Arc::clone(progress)));
    let server = runtime.spawn(echo(server));

    let asked = ask(&client, || more() && !heartbeat.is_finished());
    progress.is_over.store(true, Ordering::Relaxed);
    // Its end of the socket pair is closed, which ends the server.
    drop(client);
    let heartbeat = runtime.block_on(runtime::join(heartbeat));
    let served = runtime.block_on(runtime::join(server));
    let (heartbeat, served, echo) = (heartbeat?, served?, asked?);
    ensure!(served == echo.count(), "the echo answered {served} of {} times", echo.count());
    Ok([("heartbeat", heartbeat), ("echo", echo)])
}

/// The heartbeat: returns how late each beat was.
async fn beat(progress: Arc<Progress>) -> anyhow::Result<Recorder> {
    let mut due = monotonic()?;
    let timer = start_timer(due + INTERVAL).context("cannot start a kernel timer")?;
    let mut late = Recorder::default();
    while !progress.is_over.load(Ordering::Relaxed) {
        let expired = expirations(&timer).await.context("the heartbeat")?;
        let now = monotonic()?;
        for _ in 0..expired {
            due += INTERVAL;
            late.record(now.saturating_sub(due).as_nanos() as u64);
        }
        progress.beats.fetch_add(expired, Ordering::Relaxed);
    }
    Ok(late)
}

/// A kernel timer that expires at each interval.
fn start_timer(first: Duration) -> io::Result<AsyncFd<OwnedFd>> {
    let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
    let timer = TimerFd::new(TimerClock::CLOCK_MONOTONIC, flags)?;
    let expiration = Expiration::IntervalDelayed(first.into(), INTERVAL.into());
    timer.set(expiration, TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
    #[allow(
        deprecated,
        reason = "its successor is unsafe, and Tokio 1.54 was the first to have it"
    )]
    AsyncFd::with_interest(OwnedFd::from(timer), Interest::READABLE)
}

/// Awaits the next expirations of a timer, and returns their number.
async fn expirations(timer: &AsyncFd<OwnedFd>) -> io::Result<u64> {
    loop {
        let mut ready = timer.readable().await?;
        let mut count = [0; 8];
        // timerfd_create(2): a read is of 8 bytes, or fails.
        if let Ok(read) = ready.try_io(|fd| Ok(nix::unistd::read(fd, &mut count)?)) {
            return read.map(|_| u64::from_ne_bytes(count));
        }
    }
}

fn monotonic() -> nix::Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_MONOTONIC)?.into())
}

/// Bytes of a number that goes to the echo and back.
const NUMBER: usize = 8;

/// The echo: writes back what it reads until the end of file, and returns how often it did.
async fn echo(mut stream: UnixStream) -> anyhow::Result<u64> {
    let mut number = [0; NUMBER];
    let mut served = 0;
    loop {
        match stream.read_exact(&mut number).await {
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(served),
            Err(e) => return Err(e).context("the echo"),
        }
        stream.write_all(&number).await.context("the echo")?;
        served += 1;
    }
}

/// The client of the echo: returns how long each answer took.
fn ask(mut stream: &Client, mut more: impl FnMut() -> bool) -> anyhow::Result<Recorder> {
    let mut answers = Recorder::default();
    let mut due = Instant::now();
    let mut number = 0_u64;
    while more() {
        let mut answer = [0; NUMBER];
        let sent = Instant::now();
        stream
            .write_all(&number.to_ne_bytes())
            .and_then(|()| stream.read_exact(&mut answer))
            .context("the client of the echo")?;
        answers.record(sent.elapsed().as_nanos() as u64);
        let answer = u64::from_ne_bytes(answer);
        ensure!(answer == number, "the echo answered {answer} to {number}");
        number += 1;
        // If the answer took longer, the next number follows at once.
        due = (due + INTERVAL).max(Instant::now());
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    Ok(answers)
}
