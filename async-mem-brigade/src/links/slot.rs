//! A message and the waker of who waits: the least that a link needs, with a lock and without.
//!
//! One waker is enough, since at most one of the two ends waits: the receiver while there is no
//! message, the sender while there is one.

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

/// Where messages go in.
pub(crate) struct Sender<S: Shelf>(Arc<S>);

/// Where messages come out.
pub(crate) struct Receiver<S: Shelf>(Arc<S>);

/// What is between the two ends of a link.
pub(crate) struct State<M> {
    message: Cell<Option<M>>,
    is_closed: Cell<bool>,
    is_awaited: Cell<bool>,
    /// Of who waited last. It is kept when it has been used: mostly the same task waits again, and
    /// to make another waker would be an atomic operation.
    waker: Cell<Option<Waker>>,
}

/// Where a state is kept, and how one gets at it.
pub(crate) trait Shelf: Send + Sync + 'static {
    type Message: Send + 'static;

    fn new(state: State<Self::Message>) -> Self;

    /// `None` where nobody gets at it any more, so that nobody is left to hand over to.
    fn with<R>(&self, act: impl FnOnce(&State<Self::Message>) -> R) -> Option<R>;
}

impl<M: Send + 'static> Shelf for sync::Mutex<State<M>> {
    type Message = M;

    fn new(state: State<M>) -> Self {
        sync::Mutex::new(state)
    }

    fn with<R>(&self, act: impl FnOnce(&State<M>) -> R) -> Option<R> {
        // Nothing is half done where something panics.
        Some(act(&self.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl<M: Send + 'static> Shelf for Local<State<M>> {
    type Message = M;

    fn new(state: State<M>) -> Self {
        Local::new(state)
    }

    fn with<R>(&self, act: impl FnOnce(&State<M>) -> R) -> Option<R> {
        self.get().map(act)
    }
}

impl<M: Send + 'static> Link<M> for Mutex {
    type Sender = Sender<sync::Mutex<State<M>>>;
    type Receiver = Receiver<sync::Mutex<State<M>>>;

    fn link(_: u32) -> (Self::Sender, Self::Receiver) {
        link()
    }
}

impl<M: Send + 'static> Link<M> for Slot {
    type Sender = Sender<Local<State<M>>>;
    type Receiver = Receiver<Local<State<M>>>;

    fn link(_: u32) -> (Self::Sender, Self::Receiver) {
        link()
    }
}

fn link<S: Shelf>() -> (Sender<S>, Receiver<S>) {
    let slot = Arc::new(S::new(State {
        message: Cell::new(None),
        is_closed: Cell::new(false),
        is_awaited: Cell::new(false),
        waker: Cell::new(None),
    }));
    (Sender(Arc::clone(&slot)), Receiver(slot))
}

impl<M> State<M> {
    /// Takes the message where there is room for it.
    fn put(&self, message: &mut Option<M>, context: &Context) -> Poll<Result<(), Gone>> {
        if self.is_closed.get() {
            return Poll::Ready(Err(Gone));
        }
        if let Some(before) = self.message.take() {
            self.message.set(Some(before));
            self.wait(context);
            return Poll::Pending;
        }
        self.message.set(message.take());
        self.wake();
        Poll::Ready(Ok(()))
    }

    fn take(&self, context: &Context) -> Poll<Option<M>> {
        if let Some(message) = self.message.take() {
            self.wake();
            return Poll::Ready(Some(message));
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

impl<S: Shelf> Put<S::Message> for Sender<S> {
    type Lost = Gone;

    fn put(&mut self, message: S::Message) -> impl Future<Output = Result<(), Gone>> {
        let mut message = Some(message);
        poll_fn(move |context| {
            let put = self.0.with(|slot| slot.put(&mut message, context));
            put.unwrap_or(Poll::Ready(Err(Gone)))
        })
    }
}

impl<S: Shelf> Take<S::Message> for Receiver<S> {
    fn take(&mut self) -> impl Future<Output = Option<S::Message>> {
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
