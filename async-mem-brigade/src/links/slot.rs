//! A number and the waker of who waits: the least that a link needs, with a lock and without.
//!
//! One waker is enough, since at most one of the two ends waits: the receiver while there is no
//! number, the sender while there is one.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::sync::{self, Arc, PoisonError};
use std::task::{Context, Poll, Waker};

use super::{Gone, Link, Put, Take};
use crate::one_page::Local;

/// A slot behind a `std::sync::Mutex`, on any executor.
pub(crate) struct Mutex;

/// A slot that only the one-page executor's thread gets at: no lock, no atomic operation.
pub(crate) struct Slot;

/// Where numbers go in.
pub(crate) struct Sender<S: Shelf>(Arc<S>);

/// Where numbers come out.
pub(crate) struct Receiver<S: Shelf>(Arc<S>);

/// What is between the two ends of a link.
#[derive(Default)]
pub(crate) struct State {
    number: Cell<usize>,
    is_full: Cell<bool>,
    is_closed: Cell<bool>,
    is_awaited: Cell<bool>,
    /// Of who waited last. It is kept when it has been used: mostly the same task waits again, and
    /// to make another waker would be an atomic operation.
    waker: Cell<Option<Waker>>,
}

/// Where a state is kept, and how one gets at it.
pub(crate) trait Shelf: Send + Sync + 'static {
    fn new(state: State) -> Self;

    /// `None` where nobody gets at it any more, so that nobody is left to hand over to.
    fn with<R>(&self, act: impl FnOnce(&State) -> R) -> Option<R>;
}

impl Shelf for sync::Mutex<State> {
    fn new(state: State) -> Self {
        sync::Mutex::new(state)
    }

    fn with<R>(&self, act: impl FnOnce(&State) -> R) -> Option<R> {
        // Nothing is half done where something panics.
        Some(act(&self.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl Shelf for Local<State> {
    fn new(state: State) -> Self {
        Local::new(state)
    }

    fn with<R>(&self, act: impl FnOnce(&State) -> R) -> Option<R> {
        self.get().map(act)
    }
}

impl Link for Mutex {
    type Sender = Sender<sync::Mutex<State>>;
    type Receiver = Receiver<sync::Mutex<State>>;

    fn link(_: u32) -> (Self::Sender, Self::Receiver) {
        link()
    }
}

impl Link for Slot {
    type Sender = Sender<Local<State>>;
    type Receiver = Receiver<Local<State>>;

    fn link(_: u32) -> (Self::Sender, Self::Receiver) {
        link()
    }
}

fn link<S: Shelf>() -> (Sender<S>, Receiver<S>) {
    let slot = Arc::new(S::new(State::default()));
    (Sender(Arc::clone(&slot)), Receiver(slot))
}

impl State {
    fn put(&self, number: usize, context: &Context) -> Poll<Result<(), Gone>> {
        if self.is_closed.get() {
            return Poll::Ready(Err(Gone));
        }
        if self.is_full.replace(true) {
            self.wait(context);
            return Poll::Pending;
        }
        self.number.set(number);
        self.wake();
        Poll::Ready(Ok(()))
    }

    fn take(&self, context: &Context) -> Poll<Option<usize>> {
        if self.is_full.replace(false) {
            let number = self.number.get();
            self.wake();
            return Poll::Ready(Some(number));
        }
        if self.is_closed.get() {
            return Poll::Ready(None);
        }
        self.wait(context);
        Poll::Pending
    }

    fn close(&self) {
        self.is_closed.set(true);
        self.wake();
    }

    fn wait(&self, context: &Context) {
        let waker = match self.waker.take() {
            Some(waker) if waker.will_wake(context.waker()) => waker,
            _ => context.waker().clone(),
        };
        self.waker.set(Some(waker));
        self.is_awaited.set(true);
    }

    fn wake(&self) {
        if self.is_awaited.replace(false) {
            let waker = self.waker.take();
            waker.iter().for_each(Waker::wake_by_ref);
            self.waker.set(waker);
        }
    }
}

impl<S: Shelf> Put for Sender<S> {
    type Lost = Gone;

    fn put(&mut self, number: usize) -> impl Future<Output = Result<(), Gone>> {
        poll_fn(move |context| {
            let put = self.0.with(|slot| slot.put(number, context));
            put.unwrap_or(Poll::Ready(Err(Gone)))
        })
    }
}

impl<S: Shelf> Take for Receiver<S> {
    fn take(&mut self) -> impl Future<Output = Option<usize>> {
        poll_fn(|context| {
            let taken = self.0.with(|slot| slot.take(context));
            taken.unwrap_or(Poll::Ready(None))
        })
    }
}

impl<S: Shelf> Drop for Sender<S> {
    fn drop(&mut self) {
        self.0.with(State::close);
    }
}

impl<S: Shelf> Drop for Receiver<S> {
    fn drop(&mut self) {
        self.0.with(State::close);
    }
}
