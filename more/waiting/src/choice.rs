//! Waiting for one of several empty channels (tokio::sync::mpsc, capacity 1).

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use anyhow::ensure;
use contract::Run;
use tokio::sync::Mutex;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::place::{Place, TaskDriver, Times};
use crate::{Cli, Way};

/// Number of channels; a select! takes two of them, or all.
const CHANNELS: usize = 8;

pub(crate) fn measure(cli: &Cli, run: &mut Run) -> anyhow::Result<()> {
    let (place, runtime) = (Place::new(cli)?, cli.runtime()?);
    let (_senders, from): (Vec<Sender<usize>>, _) = (0..CHANNELS).map(|_| channel(1)).unzip();
    let driver = Select { on: cli.on, n: cli.flags.tasks, from };
    let driver = Arc::new(Mutex::new(driver));
    place.serve_task(run, &runtime, Run::held, &driver)
}

struct Select {
    on: Way,
    n: u32,
    from: Vec<Receiver<usize>>,
}

/// Polls a select! of empty channels once, N times.
macro_rules! poll {
    ($self:ident, $($branch:ident)*) => {
        for _ in 0..$self.n {
            let [$($branch,)* ..] = &mut $self.from[..] else { unreachable!("so many channels") };
            let select = async { tokio::select! { $(message = $branch.recv() => message),* } };
            let mut select = pin!(select);
            let poll = poll_fn(|context| Poll::Ready(select.as_mut().poll(context))).await;
            ensure!(poll.is_pending(), "an empty channel had a message");
        }
    };
}

impl TaskDriver for Select {
    async fn iterate(&mut self) -> anyhow::Result<Times> {
        let begun = Instant::now();
        if self.on == Way::Select2Pending {
            poll!(self, a b);
        } else {
            poll!(self, a b c d e f g h);
        }
        Ok((begun, Instant::now()))
    }
}
