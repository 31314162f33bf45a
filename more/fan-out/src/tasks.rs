//! Receivers that are async tasks; so is the sender.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use brigade::StartLatch;
use contract::samples::Recorder;
use contract::{Pass, Run};
use runtime::{join, wait_for};
use tokio::sync::{Notify, broadcast, watch};
use tokio::task::JoinHandle;

use crate::{Cli, Receipts, SendCall};

/// What the sender and its receivers share.
struct ReturnPath {
    receipts: Receipts,
    /// Wakes the sender when all have received the message.
    received: Notify,
    /// Wakes the receivers of `--on notify`.
    notify: Notify,
    is_over: AtomicBool,
}

enum Sender {
    Watch(watch::Sender<()>),
    Broadcast(broadcast::Sender<()>),
    Notify,
}

/// Messages that a broadcast keeps: there is one at a time.
const PLACES: usize = 2;

pub(crate) fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let (n, runtime) = (cli.flags.tasks, cli.runtime.build(|builder| builder)?);
    let shared = Arc::new(ReturnPath {
        receipts: Receipts::new(),
        received: Notify::new(),
        notify: Notify::new(),
        is_over: AtomicBool::new(false),
    });
    let sender = Arc::new(match cli.on {
        SendCall::Watch => Sender::Watch(watch::channel(()).0),
        SendCall::Broadcast => Sender::Broadcast(broadcast::channel(PLACES).0),
        _ => Sender::Notify,
    });
    let mut latch = StartLatch::new(n);
    let mut receivers: Vec<JoinHandle<u64>> = Vec::with_capacity(n as usize);
    for _ in 0..n {
        let (guard, shared) = (latch.guard()?, Arc::clone(&shared));
        receivers.push(match &*sender {
            Sender::Watch(sender) => {
                let mut messages = sender.subscribe();
                runtime.spawn(async move {
                    guard.started();
                    let mut count = 0;
                    while messages.changed().await.is_ok() {
                        count += 1;
                        shared.add_receipt();
                    }
                    count
                })
            }
            Sender::Broadcast(sender) => {
                let mut messages = sender.subscribe();
                runtime.spawn(async move {
                    guard.started();
                    let mut count = 0;
                    while messages.recv().await.is_ok() {
                        count += 1;
                        shared.add_receipt();
                    }
                    count
                })
            }
            Sender::Notify => runtime.spawn(async move {
                // It is among those that are woken from now on, not only from its first poll on.
                let mut notified = pin!(shared.notify.notified());
                guard.started();
                let mut count = 0;
                loop {
                    notified.as_mut().await;
                    notified.set(shared.notify.notified());
                    if shared.is_over.load(Ordering::Relaxed) {
                        return count;
                    }
                    count += 1;
                    shared.add_receipt();
                }
            }),
        });
    }
    runtime.block_on(wait_for(&mut latch))?;
    while let Some(mut pass) = run.next_pass()? {
        let (shared, sender) = (Arc::clone(&shared), Arc::clone(&sender));
        let driver = runtime.spawn(async move {
            drive(n, &shared, &sender, &mut pass).await;
            anyhow::Ok(pass)
        });
        run.finish(runtime.block_on(join(driver))?)?;
    }
    shared.is_over.store(true, Ordering::Relaxed);
    shared.notify.notify_waiters();
    drop(sender);
    for receiver in receivers {
        let received = runtime.block_on(receiver).context("a receiver died")?;
        let sent = run.sent();
        ensure!(received == sent, "a receiver has {received} of {sent} messages");
    }
    Ok(())
}

/// Sends a message in each iteration.
async fn drive(n: u32, shared: &ReturnPath, sender: &Sender, pass: &mut Pass) {
    let mut calls = Recorder::default();
    while pass.next_iteration().is_some() {
        shared.receipts.expect(n);
        let begun = Instant::now();
        match sender {
            Sender::Watch(sender) => sender.send_modify(|()| ()),
            // Without receivers it would fail: then the receipts do not come.
            Sender::Broadcast(sender) => drop(sender.send(())),
            Sender::Notify => shared.notify.notify_waiters(),
        }
        let sent = begun.elapsed();
        shared.received.notified().await;
        pass.record(shared.receipts.since(begun));

        calls.record(sent.as_nanos() as u64);
    }
    if pass.is_timed() {
        pass.add_extra("sender", &calls);
    }
}

impl ReturnPath {
    /// Counts a receiver that has the message; the last one wakes the sender.
    fn add_receipt(&self) {
        if self.receipts.add() {
            self.received.notify_one();
        }
    }
}
