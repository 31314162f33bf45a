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
use std::os::unix::net::UnixStream as Client;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use contract::message::{Extra, Need, Needs, PassKind};
use contract::samples::Recorder;
use contract::{Pass, signals};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::timer::{Timer, monotonic};

/// Interval of the heartbeat and of the echo.
const INTERVAL: Duration = Duration::from_millis(1);

/// Fewest beats of a pass: alone, and beside the batches.
const BEATS: u64 = 100;

/// Name of the pass beside the neighbours.
const PASS: &str = "neighbours";

/// Flags of the neighbours.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct NeighbourFlags {
    /// Run a heartbeat and an echo on the same runtime, beside the batches; with --controlled the pass
    /// `neighbours` does
    #[arg(long, conflicts_with = "controlled")]
    pub neighbours: bool,
}

impl NeighbourFlags {
    /// The pass beside the neighbours: its samples are the batches there.
    pub fn pass() -> PassKind {
        PassKind { name: PASS.to_owned(), ..PassKind::main() }
    }

    /// Needs of the neighbours: a timer, a socket pair, and what a runtime opens.
    pub fn needs() -> Needs {
        Needs { descriptors: Need::new(3 + 16, 0), ..Needs::default() }
    }

    /// State that a pass shares with the neighbours; `None` where it is to run without them.
    pub fn progress(&self, pass: &Pass) -> Option<Arc<Progress>> {
        (self.neighbours || pass.is(PASS)).then(Arc::default)
    }

    /// Awaits the driver of a pass, beside the neighbours where it has their [`Progress`]. They stay
    /// alone on the runtime afterwards, for distributions to compare with.
    ///
    /// # Errors
    /// What the neighbours report, and a panic of the driver.
    pub fn beside<T>(
        &self,
        runtime: &Runtime,
        progress: Option<Arc<Progress>>,
        driver: JoinHandle<T>,
    ) -> anyhow::Result<(T, Extra)> {
        let mut extra = Extra::new();
        let Some(progress) = progress else {
            return Ok((runtime.block_on(driver)?, extra));
        };
        let heard = listen(runtime, &progress, || !driver.is_finished());
        let driven = runtime.block_on(driver)?;
        heard?.add_to(&mut extra, ["heartbeat", "echo"]);
        let alone = Arc::new(Progress::default());
        listen(runtime, &alone, || alone.wants_more())?
            .add_to(&mut extra, ["heartbeat_idle", "echo_idle"]);
        Ok((driven, extra))
    }
}

/// Samples of the neighbours.
struct Heard {
    heartbeat: Recorder,
    echo: Recorder,
}

impl Heard {
    fn add_to(&self, extra: &mut Extra, [heartbeat, echo]: [&str; 2]) {
        for (name, recorder) in [(heartbeat, &self.heartbeat), (echo, &self.echo)] {
            if let Some(distribution) = recorder.distribution() {
                extra.insert(name.to_owned(), distribution);
            }
        }
    }
}

/// What the neighbours and the driver of the batches know of each other.
#[derive(Debug, Default)]
pub struct Progress {
    beats: AtomicU64,
    over: AtomicBool,
}

impl Progress {
    /// Whether the driver is to go on with untimed batches, until enough beats were heard.
    pub fn wants_more(&self) -> bool {
        self.beats.load(Ordering::Relaxed) < BEATS
            && !self.is_over()
            && signals::received().is_none()
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

/// Runs the neighbours for as long as `more` says so, which is asked at each interval.
fn listen(
    runtime: &Runtime,
    progress: &Arc<Progress>,
    mut more: impl FnMut() -> bool,
) -> anyhow::Result<Heard> {
    let heard = start(runtime, progress).and_then(|(heartbeat, server, client)| {
        let asked = ask(&client, || more() && !heartbeat.is_finished());
        progress.over.store(true, Ordering::Relaxed);
        // Its end of the socket pair is closed, which ends the server.
        drop(client);
        let heartbeat = runtime.block_on(runtime::join(heartbeat));
        let served = runtime.block_on(runtime::join(server));
        let (heartbeat, served, echo) = (heartbeat?, served?, asked?);
        ensure!(served == echo.count(), "the echo answered {served} of {} times", echo.count());
        Ok(Heard { heartbeat, echo })
    });
    // Also where they could not start: the driver must not wait for beats.
    progress.over.store(true, Ordering::Relaxed);
    heard
}

type Task<T> = JoinHandle<anyhow::Result<T>>;

fn start(
    runtime: &Runtime,
    progress: &Arc<Progress>,
) -> anyhow::Result<(Task<Recorder>, Task<u64>, Client)> {
    let (client, server) = Client::pair().context("cannot make a socket pair")?;
    server.set_nonblocking(true)?;
    let _entered = runtime.enter();
    let timer = Timer::start(INTERVAL).context("cannot start a kernel timer")?;
    let server = UnixStream::from_std(server)?;
    let heartbeat = runtime.spawn(beat(timer, Arc::clone(progress)));
    Ok((heartbeat, runtime.spawn(echo(server)), client))
}

/// The heartbeat: returns how late each beat was.
async fn beat(mut timer: Timer, progress: Arc<Progress>) -> anyhow::Result<Recorder> {
    let mut late = Recorder::default();
    while !progress.is_over() {
        let expired = timer.expirations().await.context("the heartbeat")?;
        let now = monotonic()?;
        for _ in 0..expired {
            let lateness = now.saturating_sub(timer.next_due());
            late.record(lateness.as_nanos() as u64);
        }
        progress.beats.fetch_add(expired, Ordering::Relaxed);
    }
    Ok(late)
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
    for number in 0_u64.. {
        if !more() {
            break;
        }
        let mut answer = [0; NUMBER];
        let sent = Instant::now();
        stream
            .write_all(&number.to_ne_bytes())
            .and_then(|()| stream.read_exact(&mut answer))
            .context("the client of the echo")?;
        answers.record(sent.elapsed().as_nanos() as u64);
        let answer = u64::from_ne_bytes(answer);
        ensure!(answer == number, "the echo answered {answer} to {number}");
        // Where the answer took longer, the next number follows at once.
        due = (due + INTERVAL).max(Instant::now());
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    Ok(answers)
}
