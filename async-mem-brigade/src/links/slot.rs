//! A token and the waker of the end that waits: the least that a link needs.
//!
//! One waker is enough, since at most one of the two ends waits: the receiver while there is no token,
//! the sender while there is one.

#![expect(unsafe_code, reason = "a slot without a lock is used by one thread")]

use std::cell::Cell;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use super::{Receiver, Sender};

/// Either end of a slot that one thread uses, for the minimal executor: no lock, no atomic operation.
pub struct SlotEnd(Arc<OneThread>);

/// A slot for one token.
#[derive(Default)]
struct Slot {
    token: Cell<Option<usize>>,
    is_closed: Cell<bool>,
    is_awaited: Cell<bool>,
    /// Waker of the end that waited last. It is kept when it has been used: usually the same task waits
    /// again, and making another waker may be an atomic operation.
    waker: Cell<Option<Waker>>,
}

/// A slot that the thread that made it uses without a lock, and no other thread.
struct OneThread {
    thread: u64,
    slot: Slot,
}

thread_local! {
    /// Number of this thread; none is given twice.
    static THREAD: u64 = {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed)
    };
}

// SAFETY: one thread alone uses the slot, as `access` checks. Another one may drop it: it is Send.
unsafe impl Sync for OneThread {}

impl Default for OneThread {
    fn default() -> Self {
        OneThread { thread: THREAD.with(|&thread| thread), slot: Slot::default() }
    }
}

impl OneThread {
    fn access<R>(&self, act: impl FnOnce(&Slot) -> R) -> R {
        let is_here = THREAD.with(|&thread| thread == self.thread);
        assert!(is_here, "a slot is used by one thread");
        act(&self.slot)
    }
}

impl Slot {
    fn wait<R>(&self, context: &Context) -> Poll<R> {
        let waker = match self.waker.take() {
            Some(waker) if waker.will_wake(context.waker()) => waker,
            _ => context.waker().clone(),
        };
        self.waker.set(Some(waker));
        self.is_awaited.set(true);
        Poll::Pending
    }

    fn wake(&self) {
        if self.is_awaited.replace(false) {
            let waker = self.waker.take();
            waker.iter().for_each(Waker::wake_by_ref);
            self.waker.set(waker);
        }
    }

    #[inline] // into the programs
    fn take(&self, context: &Context) -> Poll<Option<usize>> {
        let token = self.token.take();
        if token.is_some() {
            self.wake();
        } else if !self.is_closed.get() {
            return self.wait(context);
        }
        Poll::Ready(token)
    }

    /// Puts the token in if there is room for it.
    #[inline]
    fn put(&self, token: &mut Option<usize>, context: &Context) -> Poll<Result<(), ()>> {
        if self.is_closed.get() {
            return Poll::Ready(Err(()));
        }
        if let Some(before) = self.token.take() {
            self.token.set(Some(before));
            return self.wait(context);
        }
        self.token.set(token.take());
        self.wake();
        Poll::Ready(Ok(()))
    }
}

impl Receiver for SlotEnd {
    type Sender = Self;

    fn link(_: u32) -> (Self, Self) {
        let shared = Arc::<OneThread>::default();
        (SlotEnd(Arc::clone(&shared)), SlotEnd(shared))
    }

    fn take(&mut self) -> impl Future<Output = Option<usize>> {
        poll_fn(|context| self.0.access(|slot| slot.take(context)))
    }
}

impl Sender for SlotEnd {
    fn put(&mut self, token: usize) -> impl Future<Output = Result<(), impl Send>> {
        let mut token = Some(token);
        poll_fn(move |context| self.0.access(|slot| slot.put(&mut token, context)))
    }
}

impl Drop for SlotEnd {
    fn drop(&mut self) {
        self.0.access(|slot| {
            slot.is_closed.set(true);
            slot.wake();
        });
    }
}
