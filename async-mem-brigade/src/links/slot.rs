//! A token and the waker of the end that waits: the least that a link needs, with a lock and without.
//!
//! One waker is enough, since at most one of the two ends waits: the receiver while there is no token,
//! the sender while there is one.

use std::cell::Cell;
use std::future::poll_fn;
use std::sync::{self, Arc, PoisonError};
use std::task::{Context, Poll, Waker};

use super::{Gone, Link, Put, Take};
use crate::minimal::Local;

/// A slot behind a `std::sync::Mutex`, on any executor.
#[derive(Debug)]
pub struct Mutex;

/// A slot that only the thread of the minimal executor uses: no lock, no atomic operation.
#[derive(Debug)]
pub struct Slot;

/// End to put tokens into.
#[derive(Debug)]
pub struct Sender<S: Shelf>(Arc<S>);

/// End to take tokens from.
#[derive(Debug)]
pub struct Receiver<S: Shelf>(Arc<S>);

/// State of a link.
pub struct State<M> {
    token: Cell<Option<M>>,
    is_closed: Cell<bool>,
    is_awaited: Cell<bool>,
    /// Waker of the end that waited last. It is kept when it has been used: usually the same task waits
    /// again, and making another waker is an atomic operation.
    waker: Cell<Option<Waker>>,
}

/// Keeper of a state, which decides who may use it.
pub trait Shelf: Send + Sync + 'static {
    /// Token of the link.
    type Token: Send + 'static;

    /// Keeps a state.
    fn new(state: State<Self::Token>) -> Self;

    /// Uses the state; `None` where nobody can any more.
    fn with<R>(&self, act: impl FnOnce(&State<Self::Token>) -> R) -> Option<R>;
}

impl<M: Send + 'static> Shelf for sync::Mutex<State<M>> {
    type Token = M;

    fn new(state: State<M>) -> Self {
        sync::Mutex::new(state)
    }

    fn with<R>(&self, act: impl FnOnce(&State<M>) -> R) -> Option<R> {
        // A panic leaves nothing half done.
        Some(act(&self.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl<M: Send + 'static> Shelf for Local<State<M>> {
    type Token = M;

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
        token: Cell::new(None),
        is_closed: Cell::new(false),
        is_awaited: Cell::new(false),
        waker: Cell::new(None),
    }));
    (Sender(Arc::clone(&slot)), Receiver(slot))
}

impl<M> State<M> {
    /// Puts the token in where there is room for it.
    fn put(&self, token: &mut Option<M>, context: &Context) -> Poll<Result<(), Gone>> {
        if self.is_closed.get() {
            return Poll::Ready(Err(Gone));
        }
        if let Some(before) = self.token.take() {
            self.token.set(Some(before));
            self.wait(context);
            return Poll::Pending;
        }
        self.token.set(token.take());
        self.wake();
        Poll::Ready(Ok(()))
    }

    fn take(&self, context: &Context) -> Poll<Option<M>> {
        if let Some(token) = self.token.take() {
            self.wake();
            return Poll::Ready(Some(token));
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

impl<S: Shelf> Put<S::Token> for Sender<S> {
    type Lost = Gone;

    fn put(&mut self, token: S::Token) -> impl Future<Output = Result<(), Gone>> {
        let mut token = Some(token);
        poll_fn(move |context| {
            let put = self.0.with(|slot| slot.put(&mut token, context));
            put.unwrap_or(Poll::Ready(Err(Gone)))
        })
    }
}

impl<S: Shelf> Take<S::Token> for Receiver<S> {
    fn take(&mut self) -> impl Future<Output = Option<S::Token>> {
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
