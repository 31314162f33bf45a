//! Waiting for one of several, and for all. The branches are channels of one place (tokio::sync::mpsc). A ready select!
//! has the send and the receive of a hop by `mpsc` without another side.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use anyhow::{Context, ensure};
use chain::Times;
use contract::Run;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use runtime::TaskDriver;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::place::Place;
use crate::signals::{Received, rest};
use crate::{Cli, On};

/// Futures in the set.
const MANY: usize = 100;

/// A message, and the channel that it came from.
type Next = Pin<Box<dyn Future<Output = (Option<usize>, Receiver<usize>)> + Send>>;

pub(crate) fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let (place, runtime) = (Place::new(cli)?, cli.runtime()?);
    let driver = Arc::new(Mutex::new(Channels::new(cli)?));
    place.serve_task(run, &runtime, |run| rest::<Received>(cli, run), &driver)
}

/// Channels whose messages are their numbers.
struct Channels {
    on: On,
    n: u32,
    to: Vec<Sender<usize>>,
    from: Vec<Receiver<usize>>,
    waiting: FuturesUnordered<Next>,
}

impl Channels {
    fn new(cli: &Cli) -> anyhow::Result<Self> {
        let (count, is_full) = match cli.on {
            On::Select2Ready | On::Join2 => (2, true),
            On::Select2Pending => (2, false),
            On::Select8Ready => (8, true),
            On::Select8Pending => (8, false),
            _ => (MANY, false),
        };
        let (to, mut from): (Vec<_>, Vec<_>) = (0..count).map(|_| channel(1)).unzip();
        if is_full {
            to.iter().enumerate().try_for_each(|(k, to)| to.try_send(k))?;
        }
        let all = if count == MANY { from.drain(..) } else { from.drain(..0) };
        let waiting = all.map(next).collect();
        Ok(Channels { on: cli.on, n: cli.flags.tasks, to, from, waiting })
    }
}

fn next(mut from: Receiver<usize>) -> Next {
    Box::pin(async { (from.recv().await, from) })
}

/// A select! of some channels.
macro_rules! select {
    ($all:expr, $($branch:ident)*) => {{
        let [$($branch),*] = &mut $all[..] else { unreachable!("so many channels") };
        async { tokio::select! { $(message = $branch.recv() => message),* } }
    }};
}

/// Takes a message of one channel and puts it back, N times.
macro_rules! ready {
    ($self:ident, $($branch:ident)*) => {
        for _ in 0..$self.n {
            let taken = select!($self.from, $($branch)*).await.context("a channel is closed")?;
            $self.to[taken].try_send(taken)?;
        }
    };
}

/// Polls a select! of empty channels once, N times.
macro_rules! pending {
    ($self:ident, $($branch:ident)*) => {
        for _ in 0..$self.n {
            let mut select = pin!(select!($self.from, $($branch)*));
            let poll = poll_fn(|context| Poll::Ready(select.as_mut().poll(context))).await;
            ensure!(poll.is_pending(), "an empty channel had a message");
        }
    };
}

impl TaskDriver for Channels {
    async fn make_trips(&mut self, _: u64) -> anyhow::Result<Times> {
        let begun = Instant::now();
        match self.on {
            On::Select2Ready => ready!(self, a b),
            On::Select8Ready => ready!(self, a b c d e f g h),
            On::Select2Pending => pending!(self, a b),
            On::Select8Pending => pending!(self, a b c d e f g h),
            On::Join2 => self.join().await?,
            _ => self.take_one_of_many().await?,
        }
        Ok((begun, Instant::now()))
    }
}

impl Channels {
    async fn join(&mut self) -> anyhow::Result<()> {
        let [a, b] = &mut self.from[..] else { unreachable!("two channels") };
        for _ in 0..self.n {
            let both = tokio::join!(a.recv(), b.recv());
            let (first, second) = both.0.zip(both.1).context("a channel is closed")?;
            self.to[first].try_send(first)?;
            self.to[second].try_send(second)?;
        }
        Ok(())
    }

    async fn take_one_of_many(&mut self) -> anyhow::Result<()> {
        for k in (0..self.n as usize).map(|k| k % MANY) {
            self.to[k].try_send(k)?;
            let (message, from) = self.waiting.next().await.context("no future is left")?;
            ensure!(message == Some(k), "another future had a message");
            self.waiting.push(next(from));
        }
        Ok(())
    }
}
