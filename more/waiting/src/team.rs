//! Operations of an iteration that several threads or tasks share.

use std::sync::Arc;

use anyhow::Context;
use runtime::join;
use tokio::sync::Mutex;

use crate::place::{TaskDriver, Times};

/// Shares of N operations.
pub(crate) fn shares(n: u32, parts: u32) -> impl Iterator<Item = u32> {
    (0..parts).map(move |part| n / parts + u32::from(part < n % parts))
}

/// From the first start to the last end.
pub(crate) fn span(times: &[Times]) -> anyhow::Result<Times> {
    let begun = times.iter().map(|times| times.0).min();
    let ended = times.iter().map(|times| times.1).max();
    begun.zip(ended).context("nobody has worked")
}

/// Tasks that share the operations of an iteration, each done by this.
pub(crate) struct Team<W> {
    n: u32,
    count: u32,
    work: W,
}

impl<W> Team<W> {
    pub(crate) fn new(n: u32, count: u32, work: W) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Team { n, count, work }))
    }
}

impl<W, F> TaskDriver for Team<W>
where
    W: Fn(u32) -> F + Send + Sync + 'static,
    F: Future<Output = anyhow::Result<Times>> + Send + 'static,
{
    async fn iterate(&mut self) -> anyhow::Result<Times> {
        let tasks: Vec<_> =
            shares(self.n, self.count).map(|share| tokio::spawn((self.work)(share))).collect();
        let mut times = Vec::new();
        for task in tasks {
            times.push(join(task).await?);
        }
        span(&times)
    }
}
