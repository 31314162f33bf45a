//! Signals between tasks, by Tokio's primitives. Both sides are spawned tasks: the future of block_on would be polled
//! by other rules.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use brigade::{StartLatch, restrict};
use contract::Run;
use runtime::{join, wait_for};
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, Notify, mpsc, oneshot, watch};
use tokio::time::timeout;

use crate::beside_timers::beside_timers;
use crate::place::{OtherSide, Place, TaskDriver, Times, shared};
use crate::{Cli, STACK};

/// Time that no timer waits for: later than the armed timers, which wait for a day.
pub(crate) const WEEK: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A side: it signals the other one, and waits for its signal.
pub(crate) trait Side: Sized + Send + 'static {
    /// Both sides.
    fn pair() -> (Self, Self);

    fn signal(&mut self) -> anyhow::Result<()>;

    fn wait(&mut self) -> impl Future<Output = anyhow::Result<()>> + Send;
}

/// Sides of a primitive that is made once: what makes it, its ends, a signal, and a wait.
macro_rules! side {
    ($name:ident: $make:expr, $to:ty, $from:ty,
     |$sender:ident| $signal:expr, |$receiver:ident| $wait:expr) => {
        pub(crate) struct $name($to, $from);

        impl Side for $name {
            fn pair() -> (Self, Self) {
                let ((to, theirs), (back, from)) = ($make, $make);
                ($name(to, from), $name(back, theirs))
            }

            fn signal(&mut self) -> anyhow::Result<()> {
                let $sender = &self.0;
                $signal;
                Ok(())
            }

            async fn wait(&mut self) -> anyhow::Result<()> {
                let $receiver = &mut self.1;
                $wait;
                Ok(())
            }
        }
    };
}

side!(Notified: shared(Notify::new()), Arc<Notify>, Arc<Notify>,
    |to| to.notify_one(), |from| from.notified().await);
side!(InTime: shared(Notify::new()), Arc<Notify>, Arc<Notify>,
    |to| to.notify_one(), |from| timeout(WEEK, from.notified()).await?);
side!(Received: mpsc::channel(1), mpsc::Sender<()>, mpsc::Receiver<()>,
    |to| to.try_send(())?, |from| from.recv().await.context("the other side has ended")?);
side!(Watched: watch::channel(0), watch::Sender<u64>, watch::Receiver<u64>,
    |to| to.send_modify(|value| *value += 1), |from| from.changed().await?);

/// A message that says where the answer goes.
pub(crate) struct Message(oneshot::Sender<Message>);

/// Ends of channels that are used once; one of them is there, and in turns.
pub(crate) struct Once(Option<oneshot::Sender<Message>>, Option<oneshot::Receiver<Message>>);

impl Side for Once {
    fn pair() -> (Self, Self) {
        let (to, from) = oneshot::channel();
        (Once(Some(to), None), Once(None, Some(from)))
    }

    fn signal(&mut self) -> anyhow::Result<()> {
        let (reply, from) = oneshot::channel();
        let to = self.0.take().context("a signal before the answer")?;
        self.1 = Some(from);
        to.send(Message(reply)).ok().context("the other side has ended")
    }

    async fn wait(&mut self) -> anyhow::Result<()> {
        let message = self.1.as_mut().context("a wait before the signal")?.await?;
        self.0 = Some(message.0);
        Ok(())
    }
}

/// The driver: signals, and waits, N times in each iteration; if the other side is here, that is done for it too.
struct SignalDriver<S> {
    ours: S,
    theirs: Option<S>,
    n: u32,
}

impl<S: Side> TaskDriver for SignalDriver<S> {
    async fn iterate(&mut self) -> anyhow::Result<Times> {
        let begun = Instant::now();
        if let Some(theirs) = &mut self.theirs {
            for _ in 0..self.n {
                self.ours.signal()?;
                theirs.wait().await?;
                theirs.signal()?;
                self.ours.wait().await?;
            }
        } else {
            for _ in 0..self.n {
                self.ours.signal()?;
                self.ours.wait().await?;
            }
        }
        Ok((begun, Instant::now()))
    }
}

/// The other side: waits, and signals, until the end. Returns how often.
async fn answer<S: Side>(mut side: S, ended: Arc<AtomicBool>) -> anyhow::Result<u64> {
    let mut answered = 0;
    loop {
        side.wait().await?;
        if ended.load(Relaxed) {
            return Ok(answered);
        }
        side.signal()?;
        answered += 1;
    }
}

/// Both sides in their places.
pub(crate) fn measure<S: Side>(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let (n, place, here) = (cli.flags.tasks, Place::new(cli)?, cli.runtime()?);
    let (there, ended) = (Elsewhere::new(cli, &place)?, Arc::new(AtomicBool::new(false)));
    let target = there.as_ref().map_or(&here, |there| &there.runtime).handle();
    let (ours, theirs) = S::pair();
    let (theirs, other) = if cli.other_side == OtherSide::None {
        (Some(theirs), None)
    } else {
        (None, Some(target.spawn(answer(theirs, Arc::clone(&ended)))))
    };
    let driver = Arc::new(Mutex::new(SignalDriver { ours, theirs, n }));
    beside_timers(&here, cli.armed, || {
        place.serve_task(run, &here, |run| rest::<S>(cli, run), &driver)
    })?;
    if let Some(other) = other {
        ended.store(true, Relaxed);
        driver.blocking_lock().ours.signal()?;
        let (answered, expected) = (here.block_on(join(other))?, run.visits());
        ensure!(answered == expected, "{answered} signals were answered, expected {expected}");
    }
    there.map_or(Ok(()), Elsewhere::end)
}

/// A runtime on another CPU, and the thread that drives it.
struct Elsewhere {
    runtime: Arc<Runtime>,
    stop: oneshot::Sender<()>,
    thread: thread::JoinHandle<anyhow::Result<()>>,
}

impl Elsewhere {
    /// One on the other side's CPU, if that is another.
    fn new(cli: &Cli, place: &Place) -> anyhow::Result<Option<Self>> {
        let Some(cpu) = place.there else { return Ok(None) };
        // Its workers start on the CPUs of this thread.
        restrict(&[cpu])?;
        let runtime = cli.runtime().map(Arc::new);
        place.back()?;
        let (runtime, (stop, stopped)) = (runtime?, oneshot::channel::<()>());
        let (driven, mut latch) = (Arc::clone(&runtime), StartLatch::new(1));
        let guard = latch.guard()?;
        let thread = STACK.spawn(1, move || {
            restrict(&[cpu]).context("cannot pin a thread to its CPU")?;
            guard.started();
            // It ends when the other end is dropped.
            let _ = driven.block_on(stopped);
            Ok(())
        })?;
        latch.wait()?;
        Ok(Some(Elsewhere { runtime, stop, thread }))
    }

    fn end(self) -> anyhow::Result<()> {
        drop(self.stop);
        brigade::join(self.thread)?
    }
}

/// Rests with N tasks of a new runtime; each waits for its own signal.
pub(crate) fn rest<S: Side>(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let (runtime, mut latch) = (cli.runtime()?, StartLatch::new(cli.flags.tasks));
    let mut kept = Vec::with_capacity(cli.flags.tasks as usize);
    for _ in 0..cli.flags.tasks {
        let (guard, (ours, mut theirs)) = (latch.guard()?, S::pair());
        kept.push(ours);
        runtime.spawn(async move {
            guard.started();
            theirs.wait().await
        });
    }
    runtime.block_on(wait_for(&mut latch))?;
    run.held()
}
