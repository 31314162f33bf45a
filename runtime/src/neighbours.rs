//! The tasks that share the runtime with the batches, and what they notice of them: a heartbeat, and
//! an echo over a socket pair.
//!
//! - **Heartbeat**: a task that a timer of the kernel wakes at each interval, by a timerfd that the
//!   runtime's own epoll watches. One sample is how much later than due the task runs. Every beat is a
//!   sample, also those that fell due while it could not run, so that a long stall weighs as much as
//!   it lasts. Tokio's own timers are not used: they count in whole ms, and round up.
//! - **Echo**: a task that writes back what it reads. The client is the main thread, which is none of
//!   the runtime's and has nothing else to do: it sends a number at each interval, and one sample is
//!   the time until it is back. It waits for each answer before it asks again.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream as Client;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use harness::limits::Demand;
use harness::recorder::Recorder;
use harness::units::Span;
use harness::{Session, signals};
use serde::Serialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::timer::{Timer, monotonic};

/// The fewest beats that the neighbours listen for, alone and beside what is measured.
pub const BEATS: u64 = 100;

/// The flags for the neighbours.
#[derive(Clone, Copy, Debug, clap::Args, Serialize)]
pub struct Neighbours {
    /// How far the beats of the heartbeat, and the questions to the echo, are apart: 10us to 1s
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "1ms", value_parser = interval)]
    pub heartbeat: Span,
    /// Leave out the heartbeat, the echo and the passes that they take
    #[arg(long)]
    pub no_neighbours: bool,
}

fn interval(text: &str) -> Result<Span, String> {
    match text.parse()? {
        span @ Span(10_000..=1_000_000_000) => Ok(span),
        span => Err(format!("{span} is not from 10us to 1s")),
    }
}

impl Neighbours {
    /// What they need of the system: a timer, and a socket pair of which the runtime watches one end.
    pub fn demand() -> Demand {
        Demand::descriptors(3)
    }

    /// The untimed passes: the neighbours alone, and then beside what `start` spawns and tells the
    /// [`Progress`]. Both go into the result. Returns what that came to; `None` where there are to be no
    /// neighbours, or a signal asks to stop.
    ///
    /// # Errors
    /// Those of the neighbours, and of what was spawned.
    pub fn listen<T>(
        self,
        session: &mut Session,
        runtime: &Runtime,
        start: impl FnOnce(Arc<Progress>) -> JoinHandle<anyhow::Result<T>>,
    ) -> anyhow::Result<Option<T>> {
        if self.no_neighbours || signals::received().is_some() {
            return Ok(None);
        }
        let interval = self.heartbeat.into();
        let progress = Arc::new(Progress::default());
        let idle = listen(runtime, interval, &progress, || {
            progress.beats() < BEATS && signals::received().is_none()
        })?;
        idle.report(session, ["heartbeat_idle", "echo_idle"]);
        if signals::received().is_some() {
            return Ok(None);
        }
        let progress = Arc::new(Progress::default());
        let driver = start(Arc::clone(&progress));
        let heard = listen(runtime, interval, &progress, || !driver.is_finished());
        let outcome = runtime.block_on(crate::join(driver))?;
        heard?.report(session, ["heartbeat", "echo"]);
        Ok(Some(outcome))
    }
}

impl Heard {
    fn report(&self, session: &mut Session, [heartbeat, echo]: [&str; 2]) {
        session.distribution(heartbeat, &self.heartbeat);
        session.distribution(echo, &self.echo);
    }
}

/// What they noticed.
#[derive(Debug)]
pub struct Heard {
    /// How late each beat was.
    pub heartbeat: Recorder,
    /// How long each answer took.
    pub echo: Recorder,
}

/// What the neighbours and the driver of the batches know of each other.
#[derive(Debug, Default)]
pub struct Progress {
    beats: AtomicU64,
    over: AtomicBool,
}

impl Progress {
    /// How many beats there were.
    pub fn beats(&self) -> u64 {
        self.beats.load(Ordering::Relaxed)
    }

    /// Whether the neighbours are gone, or about to go.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

/// Runs the neighbours for as long as `more` says so, which is asked at each interval.
///
/// # Errors
/// What the system reports, or an answer that is not what was sent.
pub fn listen(
    runtime: &Runtime,
    interval: Duration,
    progress: &Arc<Progress>,
    mut more: impl FnMut() -> bool,
) -> anyhow::Result<Heard> {
    let outcome = begin(runtime, interval, progress).and_then(|(heartbeat, server, client)| {
        let asked = ask(&client, interval, || more() && !heartbeat.is_finished());
        progress.over.store(true, Ordering::Relaxed);
        // Its end of the socket pair is closed, which ends the server.
        drop(client);
        let heartbeat = runtime.block_on(crate::join(heartbeat));
        let served = runtime.block_on(crate::join(server));
        let (heartbeat, served, echo) = (heartbeat?, served?, asked?);
        ensure!(
            served == echo.count(),
            "{served} answers to {} questions",
            echo.count()
        );
        Ok(Heard { heartbeat, echo })
    });
    // Also where they could not begin: the batches must not wait for beats.
    progress.over.store(true, Ordering::Relaxed);
    outcome
}

/// A task under way.
type Task<T> = JoinHandle<anyhow::Result<T>>;

/// Starts both tasks.
fn begin(
    runtime: &Runtime,
    interval: Duration,
    progress: &Arc<Progress>,
) -> anyhow::Result<(Task<Recorder>, Task<u64>, Client)> {
    let (client, server) = Client::pair().context("cannot make a socket pair")?;
    server.set_nonblocking(true)?;
    let _entered = runtime.enter();
    let timer = Timer::start(interval).context("cannot start a timer of the kernel")?;
    let server = UnixStream::from_std(server)?;
    let heartbeat = runtime.spawn(beat(timer, Arc::clone(progress)));
    Ok((heartbeat, runtime.spawn(echo(server)), client))
}

/// The heartbeat: takes how late it is at each beat.
async fn beat(mut timer: Timer, progress: Arc<Progress>) -> anyhow::Result<Recorder> {
    let mut late = Recorder::new(1 << 20);
    while !progress.is_over() {
        let expired = timer.expirations().await.context("the heartbeat")?;
        let now = monotonic()?;
        for _ in 0..expired {
            late.record(now.saturating_sub(timer.next_due()));
        }
        progress.beats.fetch_add(expired, Ordering::Relaxed);
    }
    Ok(late)
}

/// What is sent and comes back.
const QUESTION: usize = 8;

/// The echo: writes back what it reads, until there is no more, and returns how often it did.
async fn echo(mut stream: UnixStream) -> anyhow::Result<u64> {
    let mut question = [0; QUESTION];
    let mut served = 0;
    loop {
        match stream.read_exact(&mut question).await {
            Ok(_) => {}
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(served),
            Err(e) => return Err(e).context("the echo"),
        }
        stream.write_all(&question).await.context("the echo")?;
        served += 1;
    }
}

/// The echo's client.
fn ask(
    mut stream: &Client,
    interval: Duration,
    mut more: impl FnMut() -> bool,
) -> anyhow::Result<Recorder> {
    let mut answers = Recorder::new(1 << 20);
    let mut due = Instant::now();
    for number in 0_u64.. {
        if !more() {
            break;
        }
        let mut answer = [0; QUESTION];
        let sent = Instant::now();
        stream
            .write_all(&number.to_ne_bytes())
            .context("the echo's client")?;
        stream
            .read_exact(&mut answer)
            .context("the echo's client")?;
        answers.record(sent.elapsed());
        ensure!(
            u64::from_ne_bytes(answer) == number,
            "the echo answered {} to {number}",
            u64::from_ne_bytes(answer)
        );
        // Where the answer took longer the next question follows at once.
        due = (due + interval).max(Instant::now());
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    Ok(answers)
}
