//! Receivers that are threads; the sender is the main thread.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use anyhow::{Result, ensure};
use brigade::{StartLatch, futex, join};
use contract::Run;
use contract::samples::Recorder;

use crate::{Cli, Receipts, STACK, SendCall};

/// What the sender and its receivers share.
struct Announcer {
    call: SendCall,
    /// Number of the last message by futex; `number` is that by condition variable.
    word: AtomicU32,
    number: Mutex<u32>,
    changed: Condvar,
    is_over: AtomicBool,
    receipts: Receipts,
    /// 1 when all have received the message: the sender sleeps on it.
    received: AtomicU32,
}

pub(crate) fn measure(cli: &Cli, run: &mut Run) -> Result<()> {
    let n = cli.flags.tasks;
    let shared = Arc::new(Announcer {
        call: cli.on,
        word: AtomicU32::new(0),
        number: Mutex::new(0),
        changed: Condvar::new(),
        is_over: AtomicBool::new(false),
        receipts: Receipts::new(),
        received: AtomicU32::new(0),
    });
    let (mut latch, mut receivers) = (StartLatch::new(n), Vec::with_capacity(n as usize));
    for _ in 0..n {
        let (guard, shared) = (latch.guard()?, Arc::clone(&shared));
        receivers.push(STACK.spawn(n, move || {
            guard.started();
            shared.receive()
        })?);
    }
    latch.wait()?;
    while let Some(mut pass) = run.next_pass()? {
        let mut sender = Recorder::default();
        while pass.next_iteration().is_some() {
            shared.receipts.expect(n);
            let begun = Instant::now();
            shared.send();
            let sent = begun.elapsed();
            shared.await_receipts();
            pass.record(shared.receipts.since(begun));

            sender.record(sent.as_nanos() as u64);
        }
        if pass.is_timed() {
            pass.add_extra("sender", &sender);
        }
        run.finish(pass)?;
    }
    shared.is_over.store(true, Ordering::Relaxed);
    shared.send();
    for receiver in receivers {
        let (received, sent) = (join(receiver)?, run.sent());
        ensure!(received == sent, "a receiver has {received} of {sent} messages");
    }
    Ok(())
}

impl Announcer {
    /// Wakes all receivers.
    fn send(&self) {
        if self.call == SendCall::Futex {
            self.word.fetch_add(1, Ordering::Release);
            futex::wake_all(&self.word);
        } else {
            let mut number = self.number.lock().unwrap_or_else(PoisonError::into_inner);
            *number = number.wrapping_add(1);
            drop(number);
            self.changed.notify_all();
        }
    }

    /// Sleeps until all have received the message.
    fn await_receipts(&self) {
        while self.received.swap(0, Ordering::Acquire) == 0 {
            futex::wait(&self.received, 0);
        }
    }

    /// Receives messages until the last one; returns their number.
    fn receive(&self) -> u64 {
        let (mut last, mut count) = (0_u32, 0);
        loop {
            self.await_message(last);
            last = last.wrapping_add(1);
            if self.is_over.load(Ordering::Relaxed) {
                return count;
            }
            count += 1;
            if self.receipts.add() {
                self.received.store(1, Ordering::Release);
                futex::wake(&self.received);
            }
        }
    }

    /// Sleeps until there is another message than this one.
    fn await_message(&self, last: u32) {
        if self.call == SendCall::Futex {
            while self.word.load(Ordering::Acquire) == last {
                futex::wait(&self.word, last);
            }
        } else {
            let number = self.number.lock().unwrap_or_else(PoisonError::into_inner);
            let unchanged = |number: &mut u32| *number == last;
            drop(self.changed.wait_while(number, unchanged));
        }
    }
}
